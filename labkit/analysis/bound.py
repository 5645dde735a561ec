"""Which part of the machine a launch is bound by."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.analysis.facts import Facts
from labkit.analysis.whatifs import Replayed

BUSY = 0.75  # share of the time: a pipe busier than this is what the others wait for
MOSTLY = 0.5
UNEVEN = 0.3  # share of the time in which the other cores have nothing left to do
FULL = 0.9  # share of what all cores together can get: it is that which the pipe waits for, whatever comes next
WASTED = 0.3  # share of V's time, spent on starting up or waiting for banks


@dataclass(frozen=True)
class Bound:
    """kind: launch, imbalance, order, scalar, vector, startup, banks, hbm, l2, transfers, mte2, mte3, l0, cube,
    fixpipe.
    share: of the task's time. pipe: the one that is busiest."""

    kind: str
    share: float
    pipe: str


def bound(f: Facts, replayed: Replayed | None = None) -> Bound:
    pipe = f.busiest
    of_task = 1 - f.launch
    if f.launch > MOSTLY:
        return Bound("launch", f.launch, pipe)
    if f.imbalance > UNEVEN:
        return Bound("imbalance", f.imbalance * f.core_us / f.time_us, pipe)
    share = f.pipes[pipe] * of_task
    if f.pipes[pipe] < BUSY:
        return Bound("order", (1 - f.pipes[pipe]) * of_task, pipe)
    return Bound(_kind(f, pipe, replayed), share, pipe)


def _kind(f: Facts, pipe: str, replayed: Replayed | None) -> str:
    if pipe == "V":
        kind, most = max(("startup", f.startup), ("banks", f.bank), key=lambda part: part[1])
        return kind if most > WASTED else "vector"
    if pipe in ("MTE2", "MTE3", "FIX"):
        return _memory(f, pipe, replayed)
    return {"S": "scalar", "M": "cube", "MTE1": "l0"}[pipe]


def _memory(f: Facts, pipe: str, replayed: Replayed | None) -> str:
    """HBM or the L2 where all cores together need more than its bandwidth; else the core's own path."""
    if replayed is not None:
        saved = {name: f.time_us - replayed.without[name] for name in ("hbm", "l2")}
        most = max(saved, key=saved.get)
        if saved[most] > 0.15 * f.time_us:
            return most
        if max(f.hbm, f.l2) > FULL:
            return "hbm" if f.hbm >= f.l2 else "l2"
    elif max(f.hbm, f.l2) > BUSY:
        return "hbm" if f.hbm >= f.l2 else "l2"
    if f.mean_move < 4096:
        return "transfers"
    return {"MTE2": "mte2", "MTE3": "mte3", "FIX": "fixpipe"}[pipe]
