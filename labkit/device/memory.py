"""Memory of torch.npu: the caching allocator's numbers, in bytes."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import warnings

import torch

from labkit import messages
from labkit.device.devices import existing as index
from labkit.device.library import blocks, lib, memory, pool_counts

_fraction: dict[int, float] = {}
_KINDS = ("current", "peak", "allocated", "freed")
_STATES = ("inactive", "active_allocated", "active_pending_free")  # by Block.used


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


def memory_stats(device=None) -> collections.OrderedDict[str, int]:
    """The statistics by PyTorch's names, each group in all memory and by pool (blocks up to 1 MiB are small). What the
    names say and this allocator has not is 0: oversize blocks, waiting for streams."""
    m = memory(index(device))
    stats = {
        **pool_counts(index(device)),
        **{f"oversize_{what}.{kind}": 0 for what in ("allocations", "segments") for kind in _KINDS},
        "max_split_size": -1,
        "num_alloc_retries": m["retries"],
        "num_device_alloc": 0,
        "num_device_free": 0,
        "num_ooms": m["ooms"],
        "num_oom_rejections": m["ooms"],  # torch_npu's name for those that it refuses before the card does
        "num_sync_all_streams": 0,
    }
    segments = {kind: stats[f"segment.all.{kind}"] for kind in ("allocated", "freed")}
    stats["num_device_alloc"], stats["num_device_free"] = segments["allocated"], segments["freed"]
    return collections.OrderedDict(sorted(stats.items()))


def memory_stats_as_nested_dict(device=None) -> dict:
    """The same, taken apart at the dots of the names."""
    return _nested(memory_stats(device))


def _nested(stats: dict[str, int]) -> dict:
    nested: dict = {}
    for name, value in stats.items():
        *path, last = name.split(".")
        inner = nested
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


_WIDTH = 75
_TABLE = {
    "allocated_bytes": "Allocated memory",
    "active_bytes": "Active memory",
    "requested_bytes": "Requested memory",
    "reserved_bytes": "NPU reserved memory",
    "inactive_split_bytes": "Non-releasable memory",
    "allocation": "Allocations",
    "active": "Active allocs",
    "segment": "NPU reserved segments",
    "inactive_split": "Non-releasable allocs",
}


def _bytes_as(value: int, largest: int) -> str:
    """In the unit that suits the largest number of its group."""
    units = ["B  ", "KiB", "MiB", "GiB", "TiB", "PiB"]
    for unit in units:
        if abs(largest) < 768 * 1024 or unit == units[-1]:
            return f"{value:6d} {unit}"
        value, largest = value // 1024, largest // 1024
    raise AssertionError


def _count_as(value: int, largest: int) -> str:
    """In thousands, or millions, where the largest number of its group has more than five digits or so."""
    for unit in " KM":
        if abs(largest) < 750 * 1000 or unit == "M":
            break
        value, largest = value // 1000, largest // 1000
    return f"{value:7d} {unit} "


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """PyTorch's table of the statistics; abbreviated: without a row for each pool."""
    stats = memory_stats(device)
    lines = [
        "=" * _WIDTH,
        f" {'':16} PyTorch NPU memory summary, device ID {index(device):<18d} ",
        "-" * _WIDTH,
        f"  {'':9} NPU OOMs: {stats['num_ooms']:<13d} | {'':6} npuMalloc retries: {stats['num_alloc_retries']:<9d}  ",
        "=" * _WIDTH,
        "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ]
    pools = {"all": None, "large_pool": "      from large pool", "small_pool": "      from small pool"}
    groups = {f"{group}.": (title, _bytes_as if group.endswith("bytes") else _count_as)
              for group, title in _TABLE.items()}  # fmt: skip
    groups |= {"oversize_allocations": ("Oversize allocations", _count_as),
               "oversize_segments": ("Oversize NPU segments", _count_as)}  # fmt: skip
    for group, (title, written) in groups.items():
        lines.append("-" * _WIDTH)
        of_pools = {group: title}
        if group.endswith("."):
            of_pools = {f"{group}{pool}": name or title for pool, name in pools.items()}
        whole = [stats[f"{next(iter(of_pools))}.{kind}"] for kind in _KINDS]
        for prefix, name in list(of_pools.items())[: 1 if abbreviated else None]:
            values = [written(stats[f"{prefix}.{kind}"], most) for kind, most in zip(_KINDS, whole)]
            lines.append(f" {name:<21} | {' | '.join(values)} ")
    lines.append("=" * _WIDTH)
    return "|" + "|\n|".join(lines) + "|\n"


def mem_get_info(device=None) -> tuple[int, int]:
    """(free, total) bytes of the device."""
    total = lib().lab_capacity()
    return max(0, total - memory(index(device))["reserved"]), total


def reset_peak_memory_stats(device=None) -> None:
    lib().lab_reset_peak(index(device))


def reset_max_memory_allocated(device=None) -> None:
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device=None) -> None:
    reset_peak_memory_stats(device)


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved  # their names of before


def reset_accumulated_memory_stats(device=None) -> None:
    """Counts anew what was allocated and freed, and how often memory ran out."""
    lib().lab_reset_accumulated(index(device))


def empty_cache() -> None:
    """Gives cached memory that no tensor uses back."""
    lib().lab_empty_cache()


def set_per_process_memory_fraction(fraction: float, device=None) -> None:
    """Limits this process to `fraction` of the device's memory. Raises ValueError outside 0..1."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _fraction[index(device)] = float(fraction)
    lib().lab_set_memory_fraction(index(device), float(fraction))


def get_per_process_memory_fraction(device=None) -> float:
    return _fraction.get(index(device), 1.0)


# Settings of torch_npu's allocator (NPUAllocatorConfig.h). This one cuts and keeps memory in its own way, see arena.h.
_SETTINGS = """max_split_size_mb garbage_collection_threshold expandable_segments base_addr_aligned_kb
    page_size segment_size_mb multi_stream_lazy_reclaim pin_memory_expandable_segments
    pinned_mem_register roundup_power2_divisions max_non_split_rounding_mb
    release_lock_on_npumalloc pinned_reserve_segment_size_mb pinned_max_round_threshold_mb
    pinned_max_cached_size_mb pinned_use_background_threads""".split()


def _set_allocator_settings(settings: str) -> None:
    """PYTORCH_NPU_ALLOC_CONF. per_process_memory_fraction counts; throw_on_npumalloc_oom:True is what happens here in
    any case; a warning names the others. Raises RuntimeError for a setting that torch_npu has not, or its value."""
    for setting in filter(None, settings.replace(" ", "").split(",")):
        name, _, value = setting.partition(":")
        if name == "per_process_memory_fraction":
            try:
                set_per_process_memory_fraction(float(value))
            except ValueError:
                raise RuntimeError(f"{name} wants a number from 0 to 1, not {value!r}") from None
        elif name == "throw_on_npumalloc_oom":
            if value not in ("True", "False"):
                raise RuntimeError("Expected a single True/False argument for throw_on_npumalloc_oom")
        elif name in _SETTINGS:
            warnings.warn(messages.text("device.allocator_setting", name=name))
        else:
            raise RuntimeError(f"Unrecognized CachingAllocator option: {name}")


def memory_snapshot(mempool_id=None) -> list[dict]:
    """The allocator's segments, each with its blocks, in the form of PyTorch's snapshots."""
    segments: list[dict] = []
    for device in range(lib().lab_device_count()):
        for block in blocks(device):
            if block.first:
                segments.append({"device": device, "address": block.address, "total_size": 0, "allocated_size": 0,
                                 "active_size": 0, "requested_size": 0, "stream": block.stream,
                                 "segment_type": "small" if block.small else "large", "segment_pool_id": (0, 0),
                                 "is_expandable": False, "frames": [], "blocks": []})  # fmt: skip
            segment = segments[-1]
            segment["total_size"] += block.bytes
            if block.used:
                segment["allocated_size"] += block.bytes if block.used == 1 else 0
                segment["active_size"] += block.bytes
                segment["requested_size"] += block.asked
            segment["blocks"].append({"address": block.address, "size": block.bytes, "requested_size": block.asked,
                                      "state": _STATES[block.used],
                                      "frames": []})  # fmt: skip
    return segments


def _record_memory_history(enabled="all", *args, **kwargs) -> None:
    """Taken: a snapshot shows the memory of that moment, without the history before it."""


def _snapshot(device=None) -> dict:
    return {"segments": memory_snapshot(), "device_traces": [[] for _ in range(lib().lab_device_count())],
            "allocator_settings": {}, "external_annotations": []}  # fmt: skip


def _dump_snapshot(filename="dump_snapshot.pickle") -> None:
    """A file for pytorch.org/memory_viz."""
    import pickle

    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)


class MemPool:
    """A pool of its own for graphs. There is one allocator here, and use_mem_pool() changes nothing."""

    _made = 0

    def __init__(self, allocator=None, use_on_oom: bool = False):
        MemPool._made += 1
        self.id, self.allocator = (0, MemPool._made), allocator

    def use_count(self) -> int:
        return 1

    def snapshot(self) -> list[dict]:
        return memory_snapshot(self.id)


@contextlib.contextmanager
def use_mem_pool(pool: MemPool, device=None):
    yield


def host_memory_stats() -> dict[str, int]:
    """Pinned memory, by PyTorch's names. Nothing before torch 2.11, which keeps no such numbers."""
    values = (ctypes.c_longlong * 18)()
    if not lib().lab_host_numbers(values):
        return {}
    names = [
        f"{group}.{kind}"
        for group in ("active_requests", "active_bytes", "allocations", "allocated_bytes")
        for kind in ("current", "peak", "allocated", "freed")
    ]
    return dict(zip((*names, "num_host_alloc", "num_host_free"), values))


def host_memory_stats_as_nested_dict() -> dict:
    return _nested(host_memory_stats())


def reset_peak_host_memory_stats() -> None:
    lib().lab_host_begin_anew(1)


def reset_accumulated_host_memory_stats() -> None:
    lib().lab_host_begin_anew(0)


def host_empty_cache() -> None:
    """Gives cached pinned memory back: none is cached."""


_raw: dict[int, object] = {}


def caching_allocator_alloc(size: int, device=None, stream=None) -> int:
    """Address of `size` bytes of device memory, for another library. Free it with caching_allocator_delete()."""
    block = torch.empty(size, dtype=torch.uint8, device=torch.device("npu", index(device)))
    _raw[block.data_ptr()] = block
    return block.data_ptr()


def caching_allocator_delete(mem_ptr: int) -> None:
    _raw.pop(ctypes.c_void_p(mem_ptr).value, None)


class npurt:
    """torch.npu.npurt(): the few calls of CANN's runtime that torch_npu hands on. 0, or the runtime's error number."""

    _INVALID = 107000  # ACL_ERROR_RT_PARAM_INVALID
    _streams: dict[int, object] = {}

    @staticmethod
    def npuHostRegister(ptr: int, size: int, flags: int) -> int:
        """The program's own host memory counts as pinned from here on: copies of it need not wait."""
        return 0 if ptr and size and lib().lab_host_adopt(ptr, size) else npurt._INVALID

    @staticmethod
    def npuHostUnregister(ptr: int) -> int:
        return 0 if ptr and lib().lab_host_let_go(ptr) else npurt._INVALID

    @staticmethod
    def npuStreamCreate(ptr: int) -> int:
        """Writes a new stream's handle to the address."""
        if not ptr:
            return npurt._INVALID
        made = torch.npu.Stream()
        npurt._streams[made.npu_stream] = made
        ctypes.c_uint64.from_address(ptr).value = made.npu_stream
        return 0

    @staticmethod
    def npuStreamDestroy(stream: int) -> int:
        return 0 if npurt._streams.pop(stream, None) is not None else npurt._INVALID
