"""Puts the simulated device into PyTorch: library, arena, names, torch.npu, and a stand-in for torch_npu."""

from __future__ import annotations

import atexit
import importlib
import importlib.machinery
import os
import sys
import time
import types

from labkit import messages
from labkit.device import build, library

DEFAULT_ARENA_GB = 64
_OOM_FIELDS = ("asked", "device", "capacity", "allocated", "cached", "free", "host_free")


def _set_up_vector_math() -> None:
    """MKL's functions of vectors (exp, log, erf ...) set themselves up in their first call, and two threads at once do
    that wrongly: in one of 200 processes on a busy machine one thread's half of an exp() was rounded otherwise than in
    every later call, and with it all that a model computed in its first step. One element is one thread.
    """
    import torch

    torch.ones(1, device="cpu").exp()


def install() -> None:
    """Once a process, through labkit.device.install(). Raises RuntimeError, ToolError, CompileError."""
    import torch

    taken = torch._C._get_privateuse1_backend_name()
    if taken != "privateuseone":
        raise RuntimeError(messages.text("device.taken", name=taken))
    lib = library.load(build.library())
    gigabytes = _number("LABKIT_ARENA_GB", DEFAULT_ARENA_GB)
    if lib.lab_open(int(gigabytes * 2**30), int(_number("LABKIT_NPUS", 1, whole=True))):
        raise RuntimeError(messages.text("device.no_arena", gigabytes=gigabytes, error=lib.lab_error().decode()))
    for limit in ("chip", "host", "fraction", "address"):
        key = f"device.oom.{limit}"
        template = messages.text(key, **{field: "{" + field + "}" for field in _OOM_FIELDS})
        lib.lab_set_text(key.encode(), template.encode())
    lib.lab_set_text(b"device.shapes_only", messages.text("device.shapes_only").encode())
    lib.lab_register()
    table = torch._C._dispatch_dump_table("profiler::_record_function_enter_new").split("\n")
    if not any(line.startswith("AutogradPrivateUse1:") and "[backend fallback]" in line for line in table):  # torch 2.6
        lib.lab_autograd_fallthrough()

    from labkit.device import attention, compiling, devices, distributed, graphs, import_hook, npu, random, wider_types

    torch.utils.rename_privateuse1_backend("npu")
    torch._register_device_module("npu", npu)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    # a lazy module's parameters move before they have a shape
    torch.nn.parameter.UninitializedTensorMixin._allowed_methods.append(torch.Tensor.npu)
    random.adopt_default_generators()
    npu.default_generators = random.default_generators
    attention.register()
    wider_types.register()
    distributed.register()
    compiling.register()
    graphs.serve()
    devices.teach_type()
    devices.send_by_value()
    atexit.register(_let_autograd_finish)
    _stand_in(npu)
    _set_up_vector_math()
    for later in import_hook.BEHIND:
        importlib.import_module(later).install()
    for name, room in import_hook.TOUCHED.items():
        import_hook.after_import(name, lambda module, room=room: importlib.import_module(room).touch(module))
    if os.environ.get("TORCH_TRANSFER_TO_NPU") == "1":  # as torch_npu does when it is imported
        importlib.import_module("torch_npu.contrib.transfer_to_npu")
    if os.environ.get("TORCH_NPU_SANITIZER") == "1":
        importlib.import_module("labkit.device.modules.sanitizer").enable_npu_sanitizer()


def _number(name: str, default: float, whole: bool = False) -> float:
    text = os.environ.get(name, "")
    try:
        value = float(text) if text else default
    except ValueError:
        value = 0.0
    if not 0 < value < 2**31 or whole and value != int(value):  # nan is in no range
        raise RuntimeError(messages.text("device.bad_number", name=name, value=text))
    return value


def _let_autograd_finish(limit_s: float = 1.0) -> None:
    """Before the interpreter ends: waits until autograd's device threads sleep.

    A device has a thread of its own for the backward pass, and backward() returns before that thread has dropped the
    graph. If it then asks for the interpreter while that shuts down, the process aborts ("terminate called without an
    active exception"); a script that ends right after backward() did so half the time with two devices.
    """
    quiet, until = 0, time.monotonic() + limit_s
    while quiet < 2 and time.monotonic() < until:
        states = _autograd_states()
        if not states:
            return
        quiet = quiet + 1 if set(states) == {"S"} else 0
        time.sleep(0.001)  # without the interpreter's lock, which a thread may be waiting for


def _autograd_states() -> list[str]:
    """States ("S": asleep) of this process' pt_autograd threads."""
    states = []
    try:
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/stat", encoding="utf-8", errors="replace") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
            if name.startswith("pt_autograd"):
                states.append(rest.split()[0])
    except OSError:  # a thread that ended meanwhile
        pass
    return states


def _stand_in(npu: types.ModuleType) -> None:
    """`import torch_npu` gives a module that has torch.npu and says what it is. An unusable wheel is never imported."""
    import torch

    from labkit.device import fused, import_hook, names, package, streams

    module = types.ModuleType("torch_npu", "Stand-in for torch_npu: the device is simulated by labkit.")
    module.__version__ = f"{torch.__version__.split('+')[0]}+sim"
    module.npu, module.erase_stream = npu, streams.erase_stream
    module.__path__ = []  # a package, so that a submodule is reported as missing by its full name
    # its loader gives this very module again: a program that began with `import torch` imports labkit while it looks
    # for torch_npu, and Python then goes by the spec that the module has by now; without a loader it makes an empty one
    module.__spec__ = import_hook.torch_npu_spec()

    def missing(name: str):
        if name in package.TREE or name in import_hook.PROVIDERS:
            return importlib.import_module(f"torch_npu.{name}")
        if name.startswith("__") or name not in fused.names():
            raise AttributeError(messages.text("device.torch_npu_missing", name=name, instead=names.use(name)))
        setattr(module, name, fused.function(name))
        return module.__dict__[name]

    module.__getattr__ = missing
    module.__dir__ = lambda: sorted({*vars(module), *package.TREE, *import_hook.PROVIDERS, *fused.names()})
    sys.meta_path.insert(0, package.Modules())
    npu.__path__ = []  # a package there as well
    sys.modules["torch_npu._C"] = module._C = _inside(npu)
    sys.modules.update({"torch_npu": module, "torch_npu.npu": npu, "torch.npu": npu})
    for inner in ("autocast_mode", "common", "grad_scaler"):
        sys.modules[f"torch_npu.npu.amp.{inner}"] = getattr(npu.amp, inner)
    npu.amp.__path__ = []
    for inner in ("amp", "backends", "graphs", "memory", "mstx", "random", "streams", "utils"):
        sys.modules.update({f"torch_npu.npu.{inner}": getattr(npu, inner), f"torch.npu.{inner}": getattr(npu, inner)})


def _inside(npu: types.ModuleType) -> types.ModuleType:
    """torch_npu._C: those of its names that programs reach for; another one says that it is not there."""
    import torch

    from labkit.device import devices, fused, memory, names, streams
    from labkit.device.modules import host

    def empty_strided(size, stride, dtype) -> torch.Tensor:
        return torch.empty_strided(size, stride, dtype=dtype, device="npu")

    def weak(tensor: torch.Tensor) -> torch.Tensor:
        """The same memory, without keeping it."""
        old = tensor.untyped_storage()
        storage = torch._C._construct_storage_from_data_pointer(old.data_ptr(), tensor.device, old.nbytes())
        made = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        made.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())
        return fused.npu_format_cast_(made, tensor)

    module = types.ModuleType("torch_npu._C")
    module.__dict__.update(
        _empty_strided_npu=empty_strided,
        _weak_ref_tensor=weak,
        _mstx=streams.marks,
        _npurt=memory.npurt,
        _npu_set_thread_affinity=host.bind,
        _npu_reset_thread_affinity=host.unbind,
        _npu_getCurrentRawStream=lambda device: npu.current_stream(device).npu_stream,
        _npu_getDeviceCount=devices.device_count,
        _npu_getDevice=devices.current_device,
        _npu_get_soc_version=lambda: npu.get_soc_version(),
        _npu_hostEmptyCache=memory.host_empty_cache,
        _npu_npuCachingAllocator_set_allocator_settings=memory._set_allocator_settings,
    )

    def missing(name: str):
        raise AttributeError(messages.text("device.torch_npu_missing", name=f"_C.{name}", instead=names.use(name)))

    module.__getattr__ = missing
    return module
