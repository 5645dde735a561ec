"""Two things timed in turn, so that what disturbs the machine disturbs both; and the row that says how they compare."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Row:
    """One comparison. ours, theirs: seconds; ratio: what the bar is about; bar: text such as "<= 2.5"."""

    name: str
    ours: float
    theirs: float
    ratio: float
    bar: str
    note: str = ""

    @property
    def met(self) -> bool:
        sign, value = self.bar.split()[:2]
        return self.ratio <= float(value) if sign == "<=" else self.ratio >= float(value)


def seconds(call: Callable[[], object]) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def alternately(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int = 21, rest: float = 0.0
) -> tuple[float, float]:
    """Best wall time of each over `rounds` turns, after one untimed call of both. rest: seconds before each call, for
    the threads of an OpenMP library, which keep a core busy for some milliseconds behind their work.
    """
    ours(), theirs()
    pairs = []
    for _ in range(rounds):
        times = []
        for call in (ours, theirs):
            time.sleep(rest)
            times.append(seconds(call))
        pairs.append(times)
    return min(a for a, _ in pairs), min(b for _, b in pairs)
