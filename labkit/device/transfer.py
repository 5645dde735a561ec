"""`from torch_npu.contrib import transfer_to_npu`: a program written for CUDA runs on the npu.

Changed for the rest of the process, as torch_npu's module of that name does: torch.cuda.* and torch.cuda.amp.* are
those of torch.npu; .cuda() and .is_cuda are .npu() and .is_npu; the functions below take "cuda" for "npu", as a text,
as a torch.device or as a map_location; the backend nccl is hccl; torch.jit.script gives back what it got.
"""

from __future__ import annotations

import functools
import sys
from types import ModuleType

import torch
import torch.utils._device

from labkit.device.import_hook import after_import

FUNCTIONS = """arange as_tensor autocast bartlett_window blackman_window empty empty_like empty_strided eye from_file
    frombuffer full full_like Generator hamming_window hann_window kaiser_window linspace load logspace normal ones
    ones_like rand rand_like randint randint_like randn randn_like randperm range scalar_tensor set_default_device
    sparse_coo_tensor sparse_csr_tensor tensor tril_indices triu_indices zeros zeros_like""".split()
TENSOR = "new_empty new_empty_strided new_full new_ones new_tensor new_zeros pin_memory to".split()
MODULE = "to to_empty".split()
CUDA = "get_device_capability get_device_name get_device_properties set_device synchronize".split()
_DEVICE = ("device", "device_type", "map_location", "device_id")
_done = False


def apply() -> None:
    """Everything above, once."""
    global _done
    if _done:
        return
    _done = True
    # set_default_device knows functions by identity: it remembers them as they are now
    torch.utils._device._device_constructors()
    npu = torch.npu
    _replace(torch.cuda, npu)
    _replace(torch.cuda.amp, npu.amp)
    for where, names in ((torch, FUNCTIONS), (torch.Tensor, TENSOR), (torch.nn.Module, MODULE), (torch.cuda, CUDA)):
        for name in names:
            if hasattr(where, name):
                setattr(where, name, _on_npu(getattr(where, name), integers=name in MODULE))
    torch.Tensor.cuda, torch.Tensor.is_cuda, torch.nn.Module.cuda = (
        torch.Tensor.npu,
        torch.Tensor.is_npu,
        torch.nn.Module.npu,
    )
    torch.cuda.DoubleTensor = npu.FloatTensor  # torch_npu has it so: the card computes no double
    torch.jit.script = lambda obj, *args, **kwargs: obj
    torch.jit.script_method = lambda fn: fn
    after_import("torch.distributed.distributed_c10d", _hccl)
    after_import("torch.nn.parallel.distributed", _data_parallel)


def _replace(old: ModuleType, new: ModuleType) -> None:
    for name in new.__all__:
        if not isinstance(getattr(new, name), ModuleType):  # torch.cuda.amp stays a module, with other contents
            setattr(old, name, getattr(new, name))


def _translated(value, integers: bool = False):
    if isinstance(value, str):
        return value.replace("cuda", "npu")
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("npu" if value.index is None else f"npu:{value.index}")
    if isinstance(value, dict):
        return {_translated(k): _translated(v) for k, v in value.items()}
    if integers and type(value) is int:
        return f"npu:{value}"
    return value


def _on_npu(function, integers: bool = False):
    if isinstance(function, type):
        return _made_on_npu(function)

    @functools.wraps(function)
    def called(*args, **kwargs):
        args = [_translated(a, integers) if isinstance(a, (str, torch.device, dict)) or integers else a for a in args]
        return function(
            *args, **{k: _translated(v, integers or k == "device") if k in _DEVICE else v for k, v in kwargs.items()}
        )

    return called


def _made_on_npu(base: type):
    """Makes objects of `base`, and isinstance() still knows them: torch.Generator, torch.autocast."""

    class Meta(type):
        def __instancecheck__(cls, value):
            return isinstance(value, base)

        def __call__(cls, *args, **kwargs):
            return base(*map(_translated, args), **{k: _translated(v) for k, v in kwargs.items()})

    return Meta(base.__name__, (), {"__doc__": base.__doc__})


def _hccl(module: ModuleType) -> None:
    inner = module.init_process_group

    @functools.wraps(inner)
    def init_process_group(backend=None, *args, **kwargs):
        backend = backend.replace("nccl", "hccl") if isinstance(backend, str) else backend
        if "device_id" in kwargs:
            kwargs["device_id"] = _translated(kwargs["device_id"])
        return inner(backend, *args, **kwargs)

    for where in (module, sys.modules.get("torch.distributed")):
        if where is not None:
            where.init_process_group = init_process_group
            where.is_nccl_available = lambda: True


def _data_parallel(module: ModuleType) -> None:
    module.DistributedDataParallel.__init__ = _on_npu(module.DistributedDataParallel.__init__)
