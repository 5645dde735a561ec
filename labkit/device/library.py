"""The device's C ABI, typed. `lib()` is the loaded library;
csrc/capi.cpp and csrc/device.cpp say what each call does.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_double, c_int, c_int16, c_long, c_longlong, c_size_t, c_uint32, c_uint64, c_void_p

from labkit.device.detect import usable_npu

ENGINES = ("vector", "cube", "cores", "copy in", "copy out", "link")  # enum Engine of clock.h
# MemoryStats of arena.h
MEMORY_FIELDS = (
    "allocated",
    "allocated_peak",
    "reserved",
    "reserved_peak",
    "requested",
    "blocks",
    "segments",
    "allocations",
    "frees",
    "retries",
    "ooms",
    "active",
    "active_peak",
    "requested_peak",
    "blocks_peak",
    "segments_peak",
)


# enum What of struct PoolCounts in arena.h, in PyTorch's names
POOL_GROUPS = """allocation segment active inactive_split allocated_bytes reserved_bytes active_bytes
    inactive_split_bytes requested_bytes""".split()


class Operand(ctypes.Structure):
    """struct LabOperand of capi.cpp: a tensor of an operator whose time is asked for."""

    _fields_ = [("sizes", c_longlong * 8), ("strides", c_longlong * 8)] + [
        (name, ctypes.c_int32) for name in ("dims", "item", "floating", "reads", "writes", "same")
    ]


class Passed(ctypes.Structure):
    """struct LabSpan of capi.cpp: memory that a kernel passes over."""

    _fields_ = [("at", c_void_p), ("bytes", c_double), ("reads", ctypes.c_int32), ("writes", ctypes.c_int32)]


class Record(ctypes.Structure):
    """struct Record of clock.h; times in nanoseconds."""

    _fields_ = [
        ("name", c_uint32),
        ("device", c_int16),
        ("stream", c_int16),
        ("engine", c_uint32),
        ("reserved", c_uint32),
        ("host", c_double),
        ("start", c_double),
        ("end", c_double),
        ("bytes", c_double),
        ("flops", c_double),
        ("fixed", c_double),  # struct Parts: how the time comes about
        ("begin", c_double),
        ("moved", c_double),
        ("busy", c_double),
        ("cores", c_double),
    ]


class Block(ctypes.Structure):
    """struct BlockState of arena.h: a piece of a segment, in use or cached."""

    _fields_ = [
        ("address", c_uint64),
        ("bytes", c_uint64),
        ("asked", c_uint64),
        ("used", c_int),
        ("first", c_int),
        ("small", c_int),
        ("stream", c_int),
    ]


class Watched(ctypes.Structure):
    """struct Watched of arena.h: what has happened to memory, a stream or an event."""

    _fields_ = [("what", c_uint64), ("first", c_uint64), ("second", c_uint64)]


# enum What of arena.h
WATCHED = (
    "memory_allocation",
    "memory_deallocation",
    "record_stream",
    "erase_stream",
    "stream_creation",
    "event_creation",
    "event_deletion",
    "event_record",
    "event_wait",
    "event_synchronization",
    "stream_synchronization",
    "device_synchronization",
)


_SIGNATURES = {  # name: (result, arguments)
    "lab_open": (c_int, [c_size_t, c_int]),
    "lab_error": (c_char_p, []),
    "lab_register": (None, []),
    "lab_autograd_fallthrough": (None, []),
    "lab_set_capacity": (None, [c_size_t, c_size_t]),
    "lab_set_rank": (None, [c_int, c_int]),
    "lab_land": (None, [c_int, c_void_p, c_uint64]),
    "lab_set_param": (c_int, [c_char_p, c_double]),
    "lab_operator_ns": (
        c_double,
        [c_char_p, ctypes.POINTER(Operand), c_int, ctypes.POINTER(c_longlong), c_int, c_longlong, c_int, c_int]
        + [ctypes.POINTER(c_double), ctypes.POINTER(c_char_p)],
    ),
    "lab_shapes_only": (None, [c_int]),
    "lab_launch_fused": (
        c_double,
        [c_char_p, ctypes.POINTER(Passed), c_int, ctypes.POINTER(c_double), c_int, c_double, ctypes.POINTER(c_double)],
    ),
    "lab_set_text": (None, [c_char_p, c_char_p]),
    "lab_hand_out_default_generator": (None, [c_int]),
    "lab_share_storage": (None, [c_void_p, c_void_p, c_size_t]),
    "lab_serve_graphs": (None, [c_char_p, c_void_p]),
    "lab_arena_fd": (c_int, []),
    "lab_arena_base": (c_void_p, []),
    "lab_arena_size": (c_size_t, []),
    "lab_block": (c_int, [c_void_p, ctypes.POINTER(c_void_p), ctypes.POINTER(c_size_t), ctypes.POINTER(c_int)]),
    "lab_device_of": (c_int, [c_void_p]),
    "lab_stream_handle": (c_size_t, [c_int, c_longlong]),
    "lab_mark_written": (None, [c_void_p]),
    "lab_memory": (c_int, [c_int, ctypes.POINTER(c_uint64), c_int]),
    "lab_pool_counts": (c_int, [c_int, ctypes.POINTER(c_longlong)]),
    "lab_reset_accumulated": (None, [c_int]),
    "lab_blocks": (c_long, [c_int, ctypes.POINTER(Block), c_long]),
    "lab_capacity": (c_size_t, []),
    "lab_set_memory_fraction": (None, [c_int, c_double]),
    "lab_reset_peak": (None, [c_int]),
    "lab_empty_cache": (None, []),
    "lab_watch": (None, [c_int]),
    "lab_watched": (c_long, [ctypes.POINTER(Watched), c_long]),
    "lab_erase_stream": (None, [c_void_p, c_void_p]),
    "lab_host_numbers": (c_int, [c_void_p]),
    "lab_host_begin_anew": (None, [c_int]),
    "lab_host_adopt": (c_int, [c_uint64, c_uint64]),
    "lab_host_let_go": (c_int, [c_uint64]),
    "lab_forked": (c_int, []),
    "lab_device_count": (c_int, []),
    "lab_get_device": (c_int, []),
    "lab_set_device": (c_int, [c_int]),
    "lab_current_stream": (c_int, [c_int]),
    "lab_synchronize": (None, [c_int]),
    "lab_event_time": (c_double, [c_void_p]),
    "lab_event_is_old": (c_int, [c_void_p]),
    "lab_event_synchronize": (None, [c_void_p]),
    "lab_launch": (None, [c_char_p, c_double, c_double, c_double]),
    "lab_launch_on": (None, [c_void_p, c_char_p, c_double, c_double, c_int]),
    "lab_set_launcher": (None, [c_void_p]),
    "lab_waiting": (c_uint32, [c_void_p, ctypes.POINTER(c_uint32)]),
    "lab_drain": (None, [c_void_p]),
    "lab_noise": (None, [c_uint64, ctypes.POINTER(c_double)]),
    "lab_host_ns": (c_double, []),
    "lab_busy_until_ns": (c_double, [c_int]),
    "lab_host_work": (None, [c_double]),
    "lab_clear_l2": (None, []),
    "lab_cold_l2": (None, [c_int]),
    "lab_touch_l2": (None, [c_void_p, c_size_t, c_int]),
    "lab_held_l2": (c_double, [c_void_p, c_size_t]),
    "lab_sit_down": (c_int, [c_char_p, c_int, c_int]),
    "lab_leave_card": (c_int, []),
    "lab_card_bytes": (c_size_t, []),
    "lab_reset_clock": (c_int, []),
    "lab_launches": (c_uint64, []),
    "lab_records": (c_long, [ctypes.POINTER(Record), c_long]),
    "lab_record_name": (c_char_p, [c_uint32]),
    "lab_recorder_start": (None, [c_int]),
    "lab_recorder_stop": (None, []),
    "lab_recorder_forget": (None, []),
    "lab_recorder_on": (c_int, []),
    "lab_recorder_own": (c_int, [c_void_p]),
    "lab_recorder_push": (None, [c_char_p, c_int]),
    "lab_recorder_pop": (None, []),
    "lab_recorder_numbers": (None, [ctypes.POINTER(c_uint64), ctypes.POINTER(c_double)]),
    "lab_recorder_ranges": (c_void_p, []),
    "lab_recorder_tasks": (c_void_p, []),
    "lab_recorder_calls": (c_void_p, []),
    "lab_recorder_memory": (c_void_p, []),
    "lab_recorder_text": (c_char_p, [c_uint64]),
    "lab_recorder_stack": (c_char_p, [c_uint64]),
}
_loaded: ctypes.CDLL | None = None


def load(path) -> ctypes.CDLL:
    """Loads the library for good. Its symbols are global: an operator's own library may call lab_launch()."""
    global _loaded
    if _loaded is None:
        library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        _loaded = library
    return _loaded


def lib() -> ctypes.CDLL:
    """The loaded library. Raises RuntimeError before install(), and on a real NPU."""
    if _loaded is None:
        from labkit import messages

        raise RuntimeError(messages.text("device.real" if usable_npu() else "device.not_installed"))
    return _loaded


def memory(device: int) -> dict[str, int]:
    """Statistics of one device in bytes and counts, by the names of MEMORY_FIELDS."""
    buffer = (c_uint64 * len(MEMORY_FIELDS))()
    lib().lab_memory(device, buffer, len(buffer))
    return dict(zip(MEMORY_FIELDS, buffer))


def pool_counts(device: int) -> dict[str, int]:
    """ "allocation.small_pool.peak" and so on: each of POOL_GROUPS in each pool."""
    names = [
        f"{group}.{pool}.{kind}"
        for group in POOL_GROUPS
        for pool in ("all", "small_pool", "large_pool")
        for kind in ("current", "peak", "allocated", "freed")
    ]
    values = (c_longlong * len(names))()
    lib().lab_pool_counts(device, values)
    return dict(zip(names, values))


def records(newest: int | None = None) -> list[tuple[str, Record]]:
    """(name, record) of what the device did, oldest first: all that is kept, or so many of the newest."""
    library = lib()
    count = library.lab_records(None, 0)
    count = count if newest is None else max(0, min(newest, count))
    buffer = (Record * count)()
    buffer = buffer[: library.lab_records(buffer, count)]
    names: dict[int, str] = {}
    for record in buffer:
        if record.name not in names:
            names[record.name] = library.lab_record_name(record.name).decode()
    return [(names[record.name], record) for record in buffer]


def blocks(device: int) -> list[Block]:
    """The allocator's blocks of one device, by address; .first: a segment begins with it."""
    library = lib()
    count = library.lab_blocks(device, None, 0)
    buffer = (Block * count)()
    return list(buffer[: library.lab_blocks(device, buffer, count)])


def watched() -> list[tuple[str, int, int]]:
    """What has happened since the last call, oldest first; (one of WATCHED, number, number), see arena.h."""
    library = lib()
    count = library.lab_watched(None, 0)
    if not count:
        return []
    buffer = (Watched * count)()
    return [(WATCHED[w.what], w.first, w.second) for w in buffer[: library.lab_watched(buffer, count)]]
