"""Where a device's time goes: computing, communication, what of it is not hidden by computing, and the rest.

Intervals are pairs of whole nanoseconds, ordered and apart from each other.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from typing import NamedTuple

from labkit.profiler.layout import DeviceStep, Layout

Intervals = list[tuple[int, int]]
COMPUTING, COMMUNICATION = "Computing", "Communication"
ALONE, FREE = "Communication(Not Overlapped)", "Free"


def union(intervals: Iterable[tuple[int, int]]) -> Intervals:
    """The same time without double counting."""
    made: Intervals = []
    for begin, end in sorted(i for i in intervals if i[1] > i[0]):
        if made and begin <= made[-1][1]:
            made[-1] = (made[-1][0], max(made[-1][1], end))
        else:
            made.append((begin, end))
    return made


def minus(left: Intervals, right: Intervals) -> Intervals:
    """What of `left` no interval of `right` covers."""
    made: Intervals = []
    at = 0
    for begin, end in left:
        while at < len(right) and right[at][1] <= begin:
            at += 1
        k = at
        while k < len(right) and right[k][0] < end:
            if right[k][0] > begin:
                made.append((begin, right[k][0]))
            begin = max(begin, right[k][1])
            k += 1
        if begin < end:
            made.append((begin, end))
    return made


def within(intervals: Intervals, begin: int, end: int) -> Intervals:
    """The part of them in [begin, end)."""
    first = bisect.bisect_left(intervals, begin, key=lambda i: i[1])
    last = bisect.bisect_left(intervals, end, key=lambda i: i[0])
    return [(max(b, begin), min(e, end)) for b, e in intervals[first:last] if b < end and e > begin]


def cut(intervals: Intervals, borders: list[int]) -> Intervals:
    """The same time, in pieces that cross no border."""
    made: Intervals = []
    for begin, end in intervals:
        for border in borders[bisect.bisect_right(borders, begin) : bisect.bisect_left(borders, end)]:
            made.append((begin, border))
            begin = border
        made.append((begin, end))
    return made


def length(intervals: Intervals) -> int:
    return sum(end - begin for begin, end in intervals)


class Shares(NamedTuple):
    """One device's rows of Overlap Analysis."""

    computing: Intervals
    communication: Intervals
    alone: Intervals
    free: Intervals

    def named(self) -> list[tuple[str, Intervals]]:
        return list(zip((COMPUTING, COMMUNICATION, ALONE, FREE), self))


def shares(layout: Layout, device: int) -> Shares:
    """Of the whole recording: from the first step's begin (the first task's, where there is no step) to the last end.
    A copy is free time of the cores, as on hardware. The rows are cut at the borders of steps, the host's and the
    device's, so that those inside of a step add up to its time.
    """
    works = layout.rows(device)
    steps = layout.steps.get(device, [])
    borders = sorted({t for s in steps for t in (s.host_begin, s.host_end, s.begin, s.end)})
    if not works and not borders:
        return Shares([], [], [], [])
    begin = min([w.begin for w in works] + borders)
    end = max([w.end for w in works] + borders)
    computing = union((w.begin, w.end) for w in works if w.computes)
    communication = union((w.begin, w.end) for w in works if w.communicates)
    alone = minus(communication, computing)
    free = minus([(begin, end)] if end > begin else [], union(computing + communication))
    return Shares(*(cut(part, borders) for part in (computing, communication, alone, free)))


class StepTime(NamedTuple):
    """A row of step_trace_time.csv, in ns."""

    number: int | None
    computing: int
    alone: int
    communication: int
    free: int
    stage: int
    bubble: int
    preparing: int


def step_times(layout: Layout, device: int) -> list[StepTime]:
    """One a step; one for all where there is no step."""
    found = shares(layout, device)
    works = layout.rows(device)
    steps = layout.steps.get(device, [])
    if not steps:
        if not works:
            return []
        begin, end = min(w.begin for w in works), max(w.end for w in works)
        host = min((s.begin for s in layout.spans), default=begin)
        steps = [DeviceStep(0, begin, end, min(host, begin), end)]
    made = []
    receives = union((w.begin, w.end) for w in works if w.op_type.startswith("hcom_receive"))
    busy = sorted(w.begin for w in works if w.computes or w.communicates)
    for step in steps:
        parts = [length(within(part, step.begin, step.end)) for part in found]
        bubble = length(within(receives, step.begin, step.end))
        at = bisect.bisect_left(busy, step.begin)
        first = busy[at] if at < len(busy) and busy[at] < step.end else step.begin
        computing, communication, alone, free = parts
        number = step.number if layout.steps.get(device) else None
        made.append(StepTime(number, computing, alone, communication, free, step.end - step.begin - bubble, bubble,
                             max(0, first - step.host_begin)))  # fmt: skip
    return made
