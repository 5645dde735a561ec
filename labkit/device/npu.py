"""torch.npu of the simulated device: devices, and the names of the modules beside it, as torch_npu has them.

A name that torch_npu has and the simulation has not raises an AttributeError that says so.
"""
from __future__ import annotations

from typing import Any

import torch

from .. import chips, messages
from .library import lib
from .memory import (caching_allocator_alloc, caching_allocator_delete, empty_cache, get_per_process_memory_fraction,
                     max_memory_allocated, max_memory_reserved, mem_get_info, memory_allocated, memory_reserved,
                     memory_stats, memory_summary, reset_accumulated_memory_stats, reset_max_memory_allocated,
                     reset_peak_memory_stats, set_per_process_memory_fraction)
from .random import (get_rng_state, get_rng_state_all, initial_seed, manual_seed, manual_seed_all, seed, seed_all,
                     set_rng_state, set_rng_state_all)
from .devices import device, device_of, index
from .streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream

__all__ = [
    "Event", "Stream", "StreamContext", "caching_allocator_alloc", "caching_allocator_delete",
    "can_device_access_peer", "current_device", "current_stream", "default_stream", "device", "device_count", "device_of",
    "empty_cache", "get_amp_supported_dtype", "get_device_capability", "get_device_name", "get_device_properties",
    "get_per_process_memory_fraction", "get_rng_state", "get_rng_state_all", "init", "initial_seed", "is_available",
    "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved", "memory_stats", "memory_summary",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_peak_memory_stats", "seed", "seed_all",
    "set_compile_mode", "set_device", "set_option", "set_per_process_memory_fraction", "set_rng_state",
    "set_rng_state_all", "set_stream", "stream", "synchronize",
]


# ---- state

def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def init() -> None:
    """Nothing to do: the device is ready once installed."""


_lazy_init = init  # what PyTorch's own code calls


def _is_in_bad_fork() -> bool:
    return bool(lib().lab_forked())


# ---- devices

def device_count() -> int:
    return lib().lab_device_count()


def current_device() -> int:
    return lib().lab_get_device()


def set_device(device) -> None:
    """Makes `device` (index, "npu:0", torch.device) current on this thread. Raises RuntimeError when there is none."""
    i = index(device)
    if lib().lab_set_device(i):
        raise RuntimeError(messages.text("device.no_device", index=i, count=device_count()))


def synchronize(device=None) -> None:
    """The host waits until the device has done everything that was issued to it, in virtual time."""
    lib().lab_synchronize(index(device))


def can_device_access_peer(device_id, peer_device_id) -> bool:
    return index(device_id) != index(peer_device_id)


class _Properties:
    """What get_device_properties() returns: the chip's facts, sizes in bytes. How much memory there is to use on this
    machine is mem_get_info()'s to say."""

    def __init__(self, chip: str):
        table = chips.load(chip)
        self.name = get_device_name()
        self.total_memory = int(table["memory"]["hbm"])
        self.cube_core_num = int(table["cores"]["aic"])
        self.vector_core_num = int(table["cores"]["aiv"])
        self.L2_cache_size = int(table["memory"]["l2"])

    def __repr__(self) -> str:
        return (f"_NPUDeviceProperties(name='{self.name}', total_memory={self.total_memory >> 20}MB, "
                f"cube_core_num={self.cube_core_num}, vector_core_num={self.vector_core_num}, "
                f"L2_cache_size={self.L2_cache_size >> 20}MB)")


def _chip() -> str:
    from . import chip
    return chip() or chips.DEFAULT


def get_device_name(device_name=None) -> str:
    """e.g. "Ascend910B1 (simulated)"."""
    index(device_name)
    return f"{chips.load(_chip())['chip']['name']} (simulated)"


def get_device_properties(device_name=None) -> _Properties:
    index(device_name)
    return _Properties(_chip())


def get_device_capability(device=None) -> None:
    """None, as torch_npu says: an Ascend chip has no compute capability."""


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.float16, torch.bfloat16]


def is_bf16_supported(including_emulation: bool = False) -> bool:
    return True


# ---- switches of torch_npu's compiler: taken, without effect

def set_compile_mode(jit_compile: bool = False) -> None:
    """On hardware: whether operators are compiled for their shapes. Here there is nothing to compile."""


def set_option(option: dict) -> None:
    """On hardware: options of the operator compiler."""
    if not isinstance(option, dict):
        raise TypeError("npu option must be a dict.")


def __getattr__(name: str) -> Any:
    from .names import REAL_NAMES
    key = "device.npu_missing" if name in REAL_NAMES else "device.npu_unknown"
    raise AttributeError(messages.text(key, name=name))
