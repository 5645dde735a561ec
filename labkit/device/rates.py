"""The cost model's numbers: from the chip's table (labkit/twin/chips) to the device's rates (struct Rates, clock.h)."""

from __future__ import annotations

import ctypes
import math

from labkit import chips
from labkit.device.detect import usable_npu
from labkit.device.library import lib

# Of the table's section `operators`, which goes to the device as it is but for units: it counts in ns.
_SECONDS = ("fixed", "block", "spread")
_PER_SECOND = ("hbm", "l2_read", "l2_write")

_chip: str | None = None


def chip() -> str | None:
    """The name of the chip that the device behaves as; None while there is no simulated device."""
    return _chip


def rates(chip: str) -> dict[str, float]:
    """Rates by the names of struct Rates: times in nanoseconds, rates per nanosecond.
    Raises ValueError (no such chip).
    """
    n = chips.flat(chip)
    return {
        "host_dispatch": n["host.dispatch"] * 1e9,
        "host_api": n["host.api"] * 1e9,
        "launch": n["host.op_fixed"] * 1e9,
        "copy_latency": n["host.link_latency"] * 1e9,
        "link": n["host.link"] / 1e9,
        "peer": n["links.peer"] / 1e9,
        "peer_latency": n["links.latency"] * 1e9,
        "clock": n["clock.hz"] / 1e9,
        "aic": n["cores.aic"],
        "aiv": n["cores.aiv"],
        "l2": n["memory.l2"],
        "core": n["dma.to_ub.fast"] * n["clock.hz"] / 1e9,
    } | {
        name.removeprefix("operators."): in_ns(name, value)
        for name, value in n.items()
        if name.startswith("operators.")
    }


def in_ns(name: str, value: float) -> float:
    """A number of the table's section `operators` as the device has it."""
    key = name.rpartition(".")[2]
    return value * 1e9 if key in _SECONDS else value / 1e9 if key in _PER_SECOND else value


def apply(chip: str) -> None:
    """Makes the device behave as `chip` from now on: its rates, and its memory as far as this machine has it."""
    global _chip
    put(rates(chip))
    hbm = int(chips.flat(chip)["memory.hbm"])
    lib().lab_set_capacity(hbm, host_memory() or hbm)
    _chip = chip


def _again(name: str) -> None:
    if name == _chip:
        apply(name)


chips.at_change.append(_again)


def put(numbers: dict[str, float]) -> None:
    """Hands rates, by the names of rates(), to the device's cost model."""
    for name, value in numbers.items():
        if lib().lab_set_param(name.encode(), value):
            raise KeyError(f"the device has no rate {name!r}")


def host_memory() -> int:
    """Bytes of memory that this process may use at most: the machine's, or less in a container. 0: unknown."""
    limits = []
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            limits += [int(line.split()[1]) * 1024 for line in file if line.startswith("MemTotal:")]
    except OSError:
        pass
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path, encoding="ascii") as file:
                limits.append(int(file.read()))
        except (OSError, ValueError):  # no such group, or "max"
            pass
    return min(limits, default=0)


# ---- times that differ from run to run as measured ones do, the same in every run with the same seed


class noise:
    """From now on modelled times are disturbed; noise(None) ends that, and so does the end of a `with` block.

    jitter: standard deviation of a kernel's time, as a share of it. outliers: the share of launches at which something
    else on the machine holds the host up, by about outlier_us. first_launch_us: what an operator's first launch costs
    the host on top, since its binary is compiled or loaded then. hot_ms: device time, idle time taken off, after which
    the chip lowers its clock; kernels then take `slower` times as long, until it had a rest. The levels are for
    lessons: typical of a busy node, measured on none. On a real NPU, which is noisy by itself, nothing happens.
    """

    def __init__(
        self,
        seed: int | None,
        *,
        jitter: float = 0.03,
        outliers: float = 0.01,
        outlier_us: float = 300.0,
        first_launch_us: float = 20_000.0,
        hot_ms: float = 50.0,
        slower: float = 1.25,
    ):
        levels = {
            "jitter": jitter,
            "outliers": outliers,
            "outlier_us": outlier_us,
            "first_launch_us": first_launch_us,
            "hot_ms": hot_ms,
        }
        wrong = [name for name, value in levels.items() if not value >= 0]  # nan too
        wrong += [name for name in ("jitter", "outlier_us", "first_launch_us") if math.isinf(levels[name])]
        if wrong or not slower >= 1 or not outliers <= 1:
            raise ValueError(f"noise: {', '.join(wrong) or 'slower >= 1 and outliers <= 1'} out of range")
        if usable_npu():  # a card makes its own
            return
        if seed is None:
            lib().lab_noise(0, None)
            return
        values = (jitter, outliers, outlier_us * 1e3, first_launch_us * 1e3, hot_ms * 1e6, slower)
        lib().lab_noise(int(seed) & (2**64 - 1), (ctypes.c_double * len(values))(*values))

    def __enter__(self) -> "noise":
        return self

    def __exit__(self, *_) -> None:
        if not usable_npu():
            lib().lab_noise(0, None)
