"""The device "npu": a simulated one where there is no NPU, torch_npu itself where there is.

`import labkit` installs it as soon as torch is there, unless LABKIT_DEVICE=none. After that `x.npu()`,
`torch.device("npu")`, `torch.npu` and `import torch_npu` work as on a machine with a card. On the simulated device
tensors are real and time is virtual: `clock()` and `timeline()` show when the host and the device would have done what.

    LABKIT_DEVICE     auto (default) | sim | npu | none
    LABKIT_CHIP       chip to simulate, default 910B1
    LABKIT_ARENA_GB   address space of device memory, default 64; memory is taken as it is used
    LABKIT_NPUS       number of simulated devices, default 1
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")  # see detect.py: torch_npu is not to load by itself

from labkit.chips import DEFAULT  # noqa: E402
from labkit.device import import_hook, rates  # noqa: E402
from labkit.device.detect import usable_npu  # noqa: E402
from labkit.device.library import ENGINES, lib, records  # noqa: E402
from labkit.device.planning import Piece, launch_fused, only_shapes, pieces, shapes_only  # noqa: E402
from labkit.device.rates import noise  # noqa: E402

__all__ = [
    "Clock",
    "ENGINES",
    "Piece",
    "Span",
    "arena",
    "block",
    "chip",
    "clear_l2",
    "clock",
    "cold_l2",
    "held_l2",
    "host_work",
    "install",
    "launch",
    "launch_fused",
    "mark_written",
    "mode",
    "noise",
    "only_shapes",
    "pieces",
    "reset_clock",
    "shapes_only",
    "timeline",
    "touch_l2",
    "usable_npu",
]

_lock = threading.RLock()
_mode: str | None = None
at_a_ranks_call: list[Callable[[], None]] = []  # what later rooms do in each process when a call of ranks() begins


def install(chip: str | None = None) -> str:
    """Makes "npu" a device of PyTorch; "sim" or "npu", which of the two it is. Safe to call again.

    With a usable NPU this imports torch_npu and does nothing else. chip (default LABKIT_CHIP, else 910B1) names the
    simulated chip; another name in a later call changes the rates and the memory from then on.
    Raises ToolError (no compiler, no torch), CompileError, RuntimeError (device memory cannot be mapped, or another
    backend owns PrivateUse1 already), ValueError (no such chip).
    """
    global _mode
    with _lock:
        if _mode is None:
            import_hook.withdraw()
            if usable_npu():
                import torch_npu  # noqa: F401

                _mode = "npu"
            else:
                import torch  # noqa: F401  (autoload may come back here at its end)

                from labkit.device import simulated

                if _mode is None:
                    simulated.install()
                    _mode = "sim"
        if _mode == "sim" and (rates.chip() is None or (chip or rates.chip()) != rates.chip()):
            rates.apply(chip or os.environ.get("LABKIT_CHIP") or DEFAULT)
        return _mode


def mode() -> str | None:
    """ "sim", "npu", or None where nothing is installed yet."""
    return _mode


def chip() -> str | None:
    """The simulated chip's name; None on a real NPU."""
    return rates.chip()


# ---- device memory, for launching kernels on it


def no_fork() -> None:
    """Raises RuntimeError in a forked child, as PyTorch's own calls do: its device memory is its parent's, so whatever
    writes there by another way than PyTorch's asks first."""
    if _mode == "sim" and lib().lab_forked():
        from labkit.device import npu

        npu.init()


def arena() -> tuple[int, int, int]:
    """(file descriptor, address, bytes) of all device memory. Another process that maps the descriptor shared at that
    address sees every npu tensor at its data_ptr(). The descriptor is close-on-exec: pass it on explicitly."""
    return lib().lab_arena_fd(), lib().lab_arena_base(), lib().lab_arena_size()


def block(pointer: int) -> tuple[int, int, bool] | None:
    """(address, bytes, written) of the allocation that holds `pointer`; None outside device memory.

    bytes is the size that was asked for; written is False while nothing was ever stored there (torch.empty).
    """
    import ctypes

    base, size, written = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_int()
    if not lib().lab_block(pointer, base, size, written):
        return None
    return base.value, size.value, bool(written.value)


def mark_written(pointer: int) -> None:
    """Notes that something outside PyTorch stored to the allocation that holds `pointer`."""
    lib().lab_mark_written(pointer)


# ---- virtual time


class Clock(NamedTuple):
    """Where virtual time stands. host_us: the host's clock; device_us: when the current device will be idle; launches:
    pieces of device work since the clock's zero."""

    host_us: float
    device_us: float
    launches: int


class Span(NamedTuple):
    """One piece of device work, modelled. Times in microseconds since the clock's zero; host_us: when the host had
    issued it; engine: one of ENGINES."""

    name: str
    device: int
    stream: int
    start_us: float
    end_us: float
    host_us: float
    engine: str
    bytes: float
    flops: float


def clock() -> Clock:
    """The virtual clock now; NaN on a real NPU, which has none."""
    if _mode == "npu":
        return Clock(float("nan"), float("nan"), 0)
    return Clock(lib().lab_host_ns() / 1e3, lib().lab_busy_until_ns(lib().lab_get_device()) / 1e3, lib().lab_launches())


def timeline() -> list[Span]:
    """What the device did since the clock's zero, in the order of issue; the newest 131072 pieces.
    Nothing on a real NPU.
    """
    return _spans()


def timeline_since(launches: int) -> list[Span]:
    """What the device did since clock().launches was this; the newest 131072 pieces. The length of timeline() is no
    mark for it: in a long session the timeline is full and grows no more.
    """
    return _spans(clock().launches - launches)


def _spans(newest: int | None = None) -> list[Span]:
    if _mode == "npu":
        return []
    return [
        Span(name, r.device, r.stream, r.start / 1e3, r.end / 1e3, r.host / 1e3, ENGINES[r.engine], r.bytes, r.flops)
        for name, r in records(newest)
    ]


_counting: list[str] = []  # who reads the clock's zero as the begin of what they count


def reset_clock() -> None:
    """Puts the virtual clock back to zero and empties the timeline. Events that were recorded before are over.
    Raises RuntimeError in the middle of what counts on the clock: a profiler's recording, an analysis, a shared card.
    """
    _reset("torch_npu.profiler" if _mode == "sim" and lib().lab_recorder_on() else None)


def _reset(recording: str | None = None) -> None:
    if _mode == "npu":
        return
    counting = recording or (_counting[-1] if _counting else None)
    if counting or not lib().lab_reset_clock():
        from labkit import messages

        raise RuntimeError(messages.text("device.clock_counts", who=counting or "labkit.device.card.shared()"))


@contextmanager
def clock_from_zero(who: str) -> Iterator[None]:
    """reset_clock(), which nobody may call inside: whoever counts launches or times from this zero would be wrong.
    A profiler's recording goes on: it is of what this does, as of a served model's load."""
    _reset()
    _counting.append(who)
    try:
        yield
    finally:
        _counting.remove(who)


def _length(call: str, us: float) -> None:
    if not 0 <= us < 1e15:  # the last one: thirty years
        from labkit import messages

        raise ValueError(messages.text("device.no_time", call=call, us=us))


def launch(name: str, device_us: float, bytes: float = 0, flops: float = 0) -> None:
    """Charges the clock for a kernel that ran outside PyTorch, on the current stream of the current device.
    On a real NPU it has taken its time already. Raises ValueError for a time that is none: negative, infinite, not a
    number."""
    _length("launch", device_us)
    if _mode != "npu":
        lib().lab_launch(name.encode(), device_us * 1e3, bytes, flops)


def clear_l2() -> None:
    """Empties the modelled L2 of every device of what PyTorch's operators left in it. labkit.clear_l2() does that too,
    and empties it of what kernels left: that is what a benchmark wants between its measurements.
    """
    if _mode != "npu":
        lib().lab_clear_l2()


def cold_l2(on: bool = True) -> None:
    """From now on (or no longer) each operator finds an empty L2: the modelled times of a benchmark that evicts it."""
    if _mode != "npu":
        lib().lab_cold_l2(int(on))


def touch_l2(pointer: int, bytes: int, writes: bool = False) -> None:
    """Notes that a kernel which PyTorch did not launch has passed over device memory: the L2 holds it now."""
    if _mode != "npu":
        lib().lab_touch_l2(pointer, bytes, int(writes))


def held_l2(tensor) -> float:
    """The bytes of a tensor that the modelled L2 of its device holds now; NaN on a real NPU, which does not say."""
    if _mode == "npu":
        return float("nan")
    return lib().lab_held_l2(tensor.data_ptr(), tensor.numel() * tensor.element_size())


def host_work(us: float) -> None:
    """Lets the host be busy for `us` microseconds of virtual time: data loading, say, which the clock does not see. On
    a real NPU, whose clock is the wall's, the host is busy for so long.
    Raises ValueError for a time that is none: negative, infinite, not a number."""
    _length("host_work", us)
    if _mode == "npu":
        until = time.perf_counter() + us * 1e-6
        while time.perf_counter() < until:
            pass
        return
    lib().lab_host_work(us * 1e3)
