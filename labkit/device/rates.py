"""The cost model's numbers: from the chip's table (labkit/twin/chips) to the device's rates (struct Rates, clock.h)."""

from __future__ import annotations

from labkit import chips
from labkit.device.library import lib

# fp32 operations of the table's `rates.vector` count a multiply-add as two; the device counts bytes put through.
_BYTES_PER_VECTOR_FLOP = 4 / 2

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
        "hbm": n["rates.gm"] / 1e9,
        "vector": n["rates.vector"] * _BYTES_PER_VECTOR_FLOP / 1e9,
        "cube_half": n["rates.cube16"] / 1e9,
        "cube_float": n["rates.cube32"] / 1e9,
    }


def apply(chip: str) -> None:
    """Makes the device behave as `chip` from now on: its rates, and its memory as far as this machine has it."""
    global _chip
    for name, value in rates(chip).items():
        if lib().lab_set_param(name.encode(), value):
            raise KeyError(f"the device has no rate {name!r}")
    hbm = int(chips.flat(chip)["memory.hbm"])
    lib().lab_set_capacity(hbm, host_memory() or hbm)
    _chip = chip


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
