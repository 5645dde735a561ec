"""`from torch_npu.contrib import transfer_to_npu`: a program written for CUDA runs on the npu.

Changed for the rest of the process, as torch_npu's module of that name does: torch.cuda.* and torch.cuda.amp.* are
those of torch.npu; .cuda() and .is_cuda are .npu() and .is_npu; what stands in the tables below takes "cuda" for "npu",
as a text, as a torch.device, in a list or as a map_location; the backend nccl is hccl; torch.jit.script gives back what
it got.
"""

from __future__ import annotations

import functools
import importlib
import logging
import sys
from types import ModuleType

import torch
import torch.utils._device

from labkit import messages
from labkit.device import devices
from labkit.device.import_hook import after_import

# Who takes a device: names by where they are. A class is replaced by one that makes its objects; a method by its name.
TABLE = {
    "torch": """arange as_tensor asarray bartlett_window blackman_window cudnn_is_acceptable empty empty_like
        empty_permuted empty_quantized empty_strided eye Event frombuffer from_file full full_like Generator
        get_autocast_dtype get_device_module hamming_window hann_window is_autocast_enabled kaiser_window linspace load
        logspace normal ones ones_like rand rand_like randint randint_like randn randn_like randperm range scalar_tensor
        set_autocast_dtype set_autocast_enabled set_default_device sparse_bsc_tensor sparse_bsr_tensor
        sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor Stream tensor tril_indices
        triu_indices zeros zeros_like _sparse_coo_tensor_unsafe _sparse_csr_tensor_unsafe""",
    "torch.Tensor": """cuda is_pinned new_empty new_empty_strided new_full new_ones new_tensor new_zeros pin_memory to
        type""",
    "torch.nn.Module": "cuda to to_empty type",
    "torch.nn.utils.rnn.PackedSequence": "to cuda",
    "torch.UntypedStorage": "__new__ cuda to",
    "torch.TypedStorage": "__new__ cuda to",
    "torch.amp": "GradScaler custom_bwd custom_fwd is_autocast_available",
    "torch.amp.autocast_mode.autocast": "__init__",
    "torch.utils._device.DeviceContext": "__init__",
    "torch.utils.data.DataLoader": "__init__",
    "torch.utils.checkpoint": "checkpoint get_device_states set_device_states",
    "torch.utils.checkpoint.DefaultDeviceType": "set_device_type",
    "torch.fft": "fftfreq rfftfreq",
    "torch.random": "fork_rng",
    "torch.signal.windows": """bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann
        kaiser nuttall""",
    "torch.accelerator": """current_stream max_memory_allocated max_memory_reserved memory_allocated memory_reserved
        memory_stats reset_accumulated_memory_stats reset_peak_memory_stats set_device_index synchronize""",
}
# The same, once something imports the module.
LATER = {
    "torch.distributed.distributed_c10d": """init_process_group new_group new_subgroups new_subgroups_by_enumeration
        _new_group_with_tag""",
    "torch.distributed.device_mesh": "init_device_mesh DeviceMesh.__init__ DeviceMesh.from_group",
    "torch.distributed.fsdp.fully_sharded_data_parallel": "FullyShardedDataParallel.__init__",
    "torch.distributed.pipelining.stage": "PipelineStage.__init__ build_stage",
    "torch.nn.parallel.distributed": "DistributedDataParallel.__init__",
    "torch.nn.parallel.data_parallel": "DataParallel.__init__",
}
# Where an integer is a device's number: model.to(0), x.cuda(0).
_NUMBERED = {"to", "to_empty", "cuda"}
_DEVICE = {"device", "device_type", "map_location", "device_id", "device_ids", "devices", "output_device", "backend",
           "pin_memory_device"}  # fmt: skip
_TYPES = """BFloat16 Bool Byte Char Double Float Half Int Long Short""".split()
_done = False


def apply() -> None:
    """Everything above, once."""
    global _done
    if _done:
        return
    _done = True
    # set_default_device knows functions by identity: it remembers them as they are now
    torch.utils._device._device_constructors()
    devices.KINDS.add("cuda")
    npu = torch.npu
    torch.Tensor.cuda, torch.Tensor.is_cuda, torch.nn.Module.cuda = (
        torch.Tensor.npu,
        torch.Tensor.is_npu,
        torch.nn.Module.npu,
    )
    for storage in (torch.UntypedStorage, torch.TypedStorage):
        storage.cuda, storage.is_cuda = storage.npu, storage.is_npu
    _replace(torch.cuda, npu)
    for name in ("amp", "memory", "random", "streams", "graphs"):
        _replace(importlib.import_module(f"torch.cuda.{name}"), getattr(npu, name))
    torch.cuda.CUDAGraph = torch.cuda.graphs.CUDAGraph = npu.NPUGraph
    torch.cuda.nvtx = npu.nvtx
    for name in ("autocast_mode", "common", "grad_scaler"):
        setattr(torch.cuda.amp, name, getattr(npu.amp, name))
    _profiler()
    torch.cuda.DoubleTensor = npu.FloatTensor  # torch_npu has it so: the card computes no double
    for path, names in TABLE.items():
        _wrap(path, names)
    for path, names in LATER.items():
        after_import(path, functools.partial(_wrap_later, names))
    torch.random.fork_rng = functools.partial(torch.random.fork_rng, device_type="npu")
    torch.cuda.default_generators = npu.default_generators
    asked = torch._utils._get_available_device_type
    for module in [m for m in sys.modules.values() if getattr(m, "__dict__", {}).get(asked.__name__) is asked]:
        module._get_available_device_type = lambda: "npu"
    torch.get_autocast_gpu_dtype = lambda: torch.get_autocast_dtype("npu")
    torch.set_autocast_gpu_dtype = lambda dtype: torch.set_autocast_dtype("npu", dtype)
    torch.serialization.register_package(5, lambda storage: None, _saved_on_cuda)
    _of_profile(torch.autograd.profiler_util.Kernel)
    torch.jit.script = lambda obj=None, *args, **kwargs: obj
    torch.jit.script_method = lambda fn: fn
    after_import("torch.distributed.distributed_c10d", _hccl)
    after_import("torch._dynamo.device_interface", _no_cuda)
    after_import("torch.utils._triton", _no_cuda)


def _replace(old: ModuleType, new: ModuleType) -> None:
    names = getattr(new, "__all__", None) or [n for n in vars(new) if hasattr(old, n) and not n.startswith("__")]
    for name in names:
        if not isinstance(getattr(new, name), ModuleType):  # torch.cuda.amp stays a module, with other contents
            setattr(old, name, getattr(new, name))


def _wrap(path: str, names: str) -> None:
    where = None
    for part in path.split("."):
        where = torch if where is None else getattr(where, part, None)
        if where is None:
            return
    for name in names.split():
        if hasattr(where, name):
            setattr(where, name, _on_npu(getattr(where, name), name))


def _wrap_later(names: str, module: ModuleType) -> None:
    """Also where torch.distributed has taken the name over."""
    for path in names.split():
        *outer, name = path.split(".")
        where = getattr(module, outer[0], None) if outer else module
        if where is None or not hasattr(where, name):
            continue
        old = _static(where, name)
        function = getattr(where, name)
        if isinstance(old, (staticmethod, classmethod)):
            setattr(where, name, staticmethod(_on_npu(function, name)))
            continue
        new = _on_npu(function, name)
        setattr(where, name, new)
        if not outer and getattr(torch.distributed, name, None) is function:
            setattr(torch.distributed, name, new)


def _static(where, name: str):
    return vars(where).get(name) if isinstance(where, type) else None


def _translated(value, numbered: bool = False):
    """What stands for a cuda device in it stands for an npu then."""
    if isinstance(value, str):
        return value.replace("cuda", "npu").replace("nccl", "hccl")
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("npu") if value.index is None else torch.device("npu", value.index)
    if isinstance(value, dict):
        return {_translated(k): _translated(v) for k, v in value.items()}
    if type(value) in (list, tuple) and any(isinstance(v, (str, torch.device)) for v in value):
        return type(value)(_translated(v) for v in value)
    if numbered and type(value) is int:
        return f"npu:{value}"
    return value


def _of_type(value):
    """x.type("torch.cuda.FloatTensor"): the type of that name, of the npu."""
    if isinstance(value, str) and value.startswith("torch.cuda."):
        return getattr(torch.cuda, value.rpartition(".")[2], value)
    return value


def _on_npu(function, name: str):
    if isinstance(function, type):
        return _made_on_npu(function)
    first = _of_type if name == "type" else _translated
    numbered = name in _NUMBERED

    @functools.wraps(function)
    def called(*args, **kwargs):
        args = [
            first(a)
            if name == "type"
            else first(a, numbered)
            if numbered or isinstance(a, (str, torch.device, dict, list, tuple))
            else a
            for a in args
        ]
        return function(
            *args, **{k: _translated(v, numbered or k == "device") if k in _DEVICE else v for k, v in kwargs.items()}
        )

    return called


def _made_on_npu(base: type):
    """A class that makes objects of `base` on the npu; isinstance() and subclasses work as with `base` itself."""

    class Meta(type(base)):
        def __instancecheck__(cls, value):
            return isinstance(value, base) if cls is made else type.__instancecheck__(cls, value)

        def __subclasscheck__(cls, other):
            return issubclass(other, base) if cls is made else type.__subclasscheck__(cls, other)

        def __call__(cls, *args, **kwargs):
            args, kwargs = [_translated(a) for a in args], {k: _translated(v) for k, v in kwargs.items()}
            return base(*args, **kwargs) if cls is made else type(base).__call__(cls, *args, **kwargs)

    made = Meta(base.__name__, (base,), {"__doc__": base.__doc__, "__module__": base.__module__})
    return made


def _profiler() -> None:
    """torch.profiler's names are torch_npu.profiler's from then on, as torch_npu's module has it."""
    real = importlib.import_module("torch_npu.profiler")

    for name in ("schedule", "tensorboard_trace_handler", "ProfilerAction"):
        setattr(torch.profiler, name, getattr(real, name))
    torch.profiler.profile = _wrapper_profiler(real.profile)
    torch.profiler.ProfilerActivity = real.ProfilerActivity


def _wrapper_profiler(profile):
    """Without an experimental_config of CUDA's."""
    own = importlib.import_module("torch_npu.profiler")._ExperimentalConfig

    @functools.wraps(profile)
    def called(*args, **kwargs):
        if not isinstance(kwargs.get("experimental_config", None), (own, type(None))):
            logging.warning(messages.text("device.config_of_cuda"))
            del kwargs["experimental_config"]
        return profile(*args, **kwargs)

    return called


def _of_profile(kernel: type) -> None:
    """A named tuple that says which device a kernel ran on."""
    made = kernel.__new__
    kernel.__new__ = lambda cls, name, device, duration: made(cls, name, _translated(device), duration)


def _saved_on_cuda(storage, location: str):
    """A file that was saved on a GPU and is loaded without map_location."""
    if not location.startswith("cuda"):
        return None
    index = location.partition(":")[2] or str(devices.current_device())
    return storage.npu(int(index))


def _hccl(module: ModuleType) -> None:
    for where in (module, torch.distributed):
        where.is_nccl_available = lambda: True
    _del_nccl_device_backend_map()


def _del_nccl_device_backend_map() -> None:
    getattr(torch.distributed.Backend, "default_device_backend_map", {}).pop("cuda", None)


def _wrapper_cuda(function):
    """The function, with "npu" for "cuda" in the arguments that say a device, and "hccl" for "nccl"."""
    return _on_npu(function, function.__name__)


_wrapper_hccl = _wrapper_cuda


def _replace_cuda_to_npu_in_dict(device_dict: dict) -> dict:
    return _translated(device_dict)


NAMES = (
    "_del_nccl_device_backend_map _replace_cuda_to_npu_in_dict _wrapper_cuda _wrapper_hccl _wrapper_profiler".split()
)


def _no_cuda(module: ModuleType) -> None:
    """Where Triton is installed torch.compile asks the GPU what it can do, and there is none."""
    if hasattr(module, "CudaInterface"):
        module.CudaInterface.is_available = staticmethod(lambda: False)
    else:
        module._device_supports_tma = lambda: False
