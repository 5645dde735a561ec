"""Steps: how long each took on the device, and which of them fall out of the row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from labkit.trace import idle, intervals, model
from labkit.trace.find_device import Context
from labkit.trace.finding import FLOOR, Finding, time

# A modified z-score beyond 3.5 is an outlier: Iglewicz and Hoaglin, How to detect and handle outliers, 1993.
OUTLIER = 3.5


def ends(trace: model.Trace) -> tuple[list[int], np.ndarray]:
    """(numbers, times at which the device was through with each step). The host's marks would not do: it runs ahead."""
    if not trace.kernels.height:
        return [], np.empty(0)
    last = pl.col("start") + pl.col("dur")
    rows = trace.kernels.filter(pl.col("step").is_not_null()).group_by("step").agg(last.max().alias("end")).sort("step")
    return rows["step"].to_list(), rows["end"].to_numpy()


def times(trace: model.Trace) -> tuple[list[int], np.ndarray]:
    """(numbers, µs) of the steps, from the end of one to the end of the next; the first has no beginning of its own
    and is left out (it holds warm-up as well). With less than two steps, what the host marked."""
    numbers, found = ends(trace)
    if len(found) >= 2:
        return numbers[1:], np.diff(found)
    return trace.steps["step"].to_list(), trace.steps["dur"].to_numpy()


def variance(c: Context) -> Iterator[Finding]:
    numbers, values = times(c.trace)
    if len(values) < 4:
        return  # of three none can be called the odd one
    median = float(np.median(values))
    spread = float(np.median(np.abs(values - median)))
    # 0.6745: a normal distribution's median deviation in units of its standard deviation; at least the clock's ns
    score = 0.6745 * (values - median) / max(spread, 1e-3)
    slow = score > OUTLIER
    excess = float((values[slow] - median).sum())
    if not slow.any() or excess < FLOOR * float(values.sum()):
        return
    late = [n for n, s in zip(numbers, slow) if s]
    gain = excess / len(values)
    _, through = ends(c.trace)
    if len(through) >= 2:
        spans = list(zip(through[:-1], through[1:]))
    else:
        spans = [(s, s + d) for s, d in zip(c.trace.steps["start"], c.trace.steps["dur"])]
    rows = [
        {"name": f"step {n}", "start": float(s), "dur": float(e - s)}
        for (s, e), n, out in zip(spans, numbers, slow)
        if out
    ]
    cause, more = _what_grew(c, spans, slow)
    apart = np.diff(np.flatnonzero(slow))
    yield Finding(
        "step-variance",
        gain,
        gain / float(values.mean()),
        {
            "steps": ", ".join(map(str, late[:8])), "median": time(median), "slowest": time(float(values.max())),
            "cause": cause, "more": time(more), "count": int(slow.sum()), "all": len(values),
            "every": int(apart[0]) if len(apart) and (apart == apart[0]).all() else "?",
        },
        rows[:5],
    )  # fmt: skip


def _what_grew(c: Context, spans, slow: np.ndarray) -> tuple[str, float]:
    """The part of a step that is longer in the slow ones: a cause of idle time, or computing."""

    def mean(values: list[float], which: np.ndarray) -> float:
        return float(np.mean([v for v, w in zip(values, which) if w]))

    busy = c.trace.busy()
    parts = {cause: [c.idle.between(cause, s, e) for s, e in spans] for cause in idle.CAUSES}
    parts["computing"] = [float(intervals.covered([s], [e], busy)[0]) for s, e in spans]
    grown = {name: mean(values, slow) - mean(values, ~slow) for name, values in parts.items()}
    best = max(grown, key=lambda name: (grown[name], name))
    return best, grown[best]


RULES = (variance,)
