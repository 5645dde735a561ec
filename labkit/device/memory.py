"""Memory of torch.npu: the caching allocator's numbers, in bytes."""

from __future__ import annotations

import ctypes

from labkit.device.devices import index
from labkit.device.library import lib, memory

_fraction: dict[int, float] = {}


def memory_allocated(device=None) -> int:
    """Bytes in use by tensors, in the allocator's blocks of 512."""
    return memory(index(device))["allocated"]


def max_memory_allocated(device=None) -> int:
    return memory(index(device))["allocated_peak"]


def memory_reserved(device=None) -> int:
    """Bytes the allocator holds of the device: in use, or cached for the next tensor."""
    return memory(index(device))["reserved"]


def max_memory_reserved(device=None) -> int:
    return memory(index(device))["reserved_peak"]


def memory_stats(device=None) -> dict[str, int]:
    """The statistics by PyTorch's names; of each group only ".all"."""
    m = memory(index(device))
    return {
        "allocated_bytes.all.current": m["allocated"],
        "allocated_bytes.all.peak": m["allocated_peak"],
        "active_bytes.all.current": m["allocated"],
        "active_bytes.all.peak": m["allocated_peak"],
        "reserved_bytes.all.current": m["reserved"],
        "reserved_bytes.all.peak": m["reserved_peak"],
        "requested_bytes.all.current": m["requested"],
        "allocation.all.current": m["blocks"],
        "allocation.all.allocated": m["allocations"],
        "allocation.all.freed": m["frees"],
        "segment.all.current": m["segments"],
        "num_alloc_retries": m["retries"],
        "num_ooms": m["ooms"],
    }


def memory_stats_as_nested_dict(device=None) -> dict:
    """The same, taken apart at the dots of the names."""
    nested: dict = {}
    for name, value in memory_stats(device).items():
        *path, last = name.split(".")
        inner = nested
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """The main numbers as a small table, in MiB."""
    m = memory(index(device))
    rows = [("allocated", m["allocated"], m["allocated_peak"]), ("reserved", m["reserved"], m["reserved_peak"])]
    lines = [f"npu:{index(device)} (simulated), MiB{'current':>14}{'peak':>12}"]
    lines += [f"{name:<25}{now / 2**20:>12.2f}{peak / 2**20:>12.2f}" for name, now, peak in rows]
    return "\n".join(lines)


def mem_get_info(device=None) -> tuple[int, int]:
    """(free, total) bytes of the device."""
    total = lib().lab_capacity()
    return max(0, total - memory(index(device))["reserved"]), total


def reset_peak_memory_stats(device=None) -> None:
    lib().lab_reset_peak(index(device))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats
memory_cached, max_memory_cached = memory_reserved, max_memory_reserved  # their names of before


def reset_accumulated_memory_stats(device=None) -> None:
    """The simulated device keeps its counts since the start; accepted for the sake of programs that call it."""


def empty_cache() -> None:
    """Gives cached memory that no tensor uses back."""
    lib().lab_empty_cache()


def set_per_process_memory_fraction(fraction: float, device=None) -> None:
    """Limits this process to `fraction` of the device's memory. Raises ValueError outside 0..1."""
    if not isinstance(fraction, (int, float)):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _fraction[index(device)] = float(fraction)
    lib().lab_set_memory_fraction(index(device), float(fraction))


def get_per_process_memory_fraction(device=None) -> float:
    return _fraction.get(index(device), 1.0)


_raw: dict[int, object] = {}


def caching_allocator_alloc(size: int, device=None, stream=None) -> int:
    """Address of `size` bytes of device memory, for another library. Free it with caching_allocator_delete()."""
    import torch

    block = torch.empty(size, dtype=torch.uint8, device=torch.device("npu", index(device)))
    _raw[block.data_ptr()] = block
    return block.data_ptr()


def caching_allocator_delete(mem_ptr: int) -> None:
    _raw.pop(ctypes.c_void_p(mem_ptr).value, None)
