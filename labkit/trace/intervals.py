"""Sums over intervals of time: unions, gaps, what of one set lies in another. Arrays of starts and ends."""

from __future__ import annotations

import numpy as np

Spans = tuple[np.ndarray, np.ndarray]
NONE: Spans = (np.empty(0), np.empty(0))


def union(starts, ends) -> Spans:
    """The same times without overlap, in order."""
    starts, ends = np.asarray(starts, float), np.asarray(ends, float)
    keep = ends > starts
    starts, ends = starts[keep], ends[keep]
    if not len(starts):
        return NONE
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    first = np.concatenate(([True], starts[1:] > ends[:-1]))
    last = np.concatenate((first[1:], [True]))
    return starts[first], ends[last]


def total(spans: Spans) -> float:
    return float((spans[1] - spans[0]).sum())


def _before(spans: Spans, at: np.ndarray) -> np.ndarray:
    """How much of the union `spans` lies before each time."""
    starts, ends = spans
    if not len(starts):
        return np.zeros(len(at))
    sums = np.concatenate(([0.0], np.cumsum(ends - starts)))
    i = np.searchsorted(starts, at, side="right")
    inside = np.where(i > 0, np.minimum(at, ends[i - 1]) - starts[i - 1], 0.0)
    return np.where(i > 0, sums[np.maximum(i - 1, 0)] + inside, 0.0)


def covered(starts, ends, spans: Spans) -> np.ndarray:
    """How much of each interval lies in the union `spans`."""
    return _before(spans, np.asarray(ends, float)) - _before(spans, np.asarray(starts, float))


def common(a: Spans, b: Spans) -> Spans:
    """What lies in both unions."""
    return subtract(a, subtract(a, b))


def subtract(a: Spans, b: Spans) -> Spans:
    """What lies in the union `a` and not in the union `b`."""
    if not len(a[0]) or not len(b[0]):
        return a
    times = np.concatenate((a[0], a[1], b[0], b[1]))
    n, m = len(a[0]), len(b[0])
    steps_a = np.concatenate((np.ones(n), -np.ones(n), np.zeros(2 * m)))
    steps_b = np.concatenate((np.zeros(2 * n), np.ones(m), -np.ones(m)))
    order = np.argsort(times, kind="stable")
    times, inside_a, inside_b = times[order], np.cumsum(steps_a[order]), np.cumsum(steps_b[order])
    keep = (inside_a[:-1] > 0) & (inside_b[:-1] == 0) & (times[1:] > times[:-1])
    return union(times[:-1][keep], times[1:][keep])


def gaps(spans: Spans, start: float, end: float) -> Spans:
    """What of [start, end] the union leaves free."""
    return subtract((np.array([start]), np.array([end])), spans) if end > start else NONE
