"""How a launch spent its time, as shares: the numbers that `explain` puts into words."""

from __future__ import annotations

from dataclasses import dataclass

from labkit import chips
from labkit.launch.record import PIPES, LaunchRecord
from labkit.messages import text

READS, WRITES = ("to_ub", "to_l1", "to_l1_nz"), ("from_ub", "from_l0c")


@dataclass(frozen=True)
class Facts:
    """Shares are between 0 and 1; `longest` is the core that ends last (of the kind that has the work), by whose time
    the pipes' shares are taken."""

    time_us: float
    core_us: float  # from the first core's begin to the last core's end
    launch: float  # of time_us: ending the task, and beginning it, up to the core that ends last
    longest: dict
    pipes: dict[str, float]  # of the longest core's time, busiest first; FIX without its waiting for unit flags
    imbalance: float  # of core_us: by which the cores' mean work is shorter than that of the one that ends last
    startup: float  # of V's busy time
    bank: float
    read: float  # bytes, all cores
    written: float
    missed: float  # bytes read that the L2 did not hold
    mean_move: float  # bytes of a transfer
    hbm: float  # of the rate of all cores together, over core_us
    l2: float
    places: int  # cores of the chip that such blocks can run on

    @property
    def busiest(self) -> str:
        return next(iter(self.pipes))


def facts(record: LaunchRecord) -> Facts:
    """Raises ValueError for a launch without counters."""
    if not record.cores:
        raise ValueError(text("explain.no_counters"))
    chip, cores = chips.load(record.chip), record.cores
    core_us = max(c["begin"] + c["time"] for c in cores)
    longest = max(_working(cores), key=lambda c: c["begin"] + c["time"])
    begins: dict[int, float] = {}
    ends: dict[int, float] = {}
    places = chip["cores"]["aic" if any(c["core"] == 2 for c in cores) else "aiv"]
    for c in cores:  # blocks beyond the cores run behind the first ones
        at = c["block"] % places
        begins[at] = min(begins.get(at, c["begin"]), c["begin"])
        ends[at] = max(ends.get(at, 0.0), c["begin"] + c["time"])
    worked = {at: end - begins[at] for at, end in ends.items()}
    # Cores begin one after the other: that is the launch's time, not the work's.
    last = worked[longest["block"] % places]
    busy = {p: longest[f"busy.{p}"] - (longest["unit_wait"] if p == "FIX" else 0.0) for p in PIPES}
    pipes = {p: us / longest["time"] if longest["time"] else 0.0 for p, us in busy.items()}
    total = {key: sum(c[key] for c in cores) for key in cores[0]}
    read, written = (sum(total[f"bytes.{w}"] for w in ways) for ways in (READS, WRITES))
    moves = sum(total[f"moves.{w}"] for w in READS + WRITES)
    vector = total["busy.V"] or 1.0
    seconds = max(core_us, 1e-9) * 1e-6
    return Facts(
        time_us=record.time_us,
        core_us=core_us,
        launch=1 - last / record.time_us if record.time_us else 0.0,
        longest=longest,
        pipes=dict(sorted(pipes.items(), key=lambda item: -item[1])),
        imbalance=max(0.0, last - sum(worked.values()) / len(worked)) / core_us if core_us else 0.0,
        startup=total["startup"] / vector,
        bank=total["bank"] / vector,
        read=read,
        written=written,
        missed=total["read_miss"],
        mean_move=(read + written) / moves if moves else 0.0,
        hbm=total["read_miss"] / seconds / chip["gm"]["hbm"],
        l2=(read + written) / seconds / chip["gm"]["l2"],
        places=places,
    )


def _working(cores: list[dict]) -> list[dict]:
    """Where a block has cores of both kinds, those of the kind that works more: the others wait for them."""
    kinds = [[c for c in cores if (c["core"] == 2) == cube] for cube in (False, True)]
    return max(
        (kind for kind in kinds if kind),
        key=lambda kind: sum(c[f"busy.{p}"] for c in kind for p in PIPES if p != "S") / len(kind),
    )
