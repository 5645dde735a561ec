"""What a timeline figure needs of a launch: rows in a window, lanes, merged bars, busy shares, races.

All times are microseconds, as in LaunchRecord.timeline (fields block, pipe, op, line, start, end,
bytes). Nothing here draws.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from labkit.messages import text

PIPES = ["S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"]
# The way a tile travels: in, compute, out, and the scalar unit that sends the instructions last.
LANE_ORDER = ["MTE2", "MTE1", "M", "V", "FIX", "MTE3", "S"]

# The twin's names of what a learner writes otherwise.
WRITTEN = {"CopyIn": "DataCopy", "CopyOut": "DataCopy", "CopyInNz": "DataCopy"}


@dataclass
class Trace:
    """One launch, as far as a picture needs it. `kind` is "modelled" or "measured"."""

    rows: np.ndarray
    op_names: list[str]
    pipe_names: list[str]
    kind: str = "modelled"
    kernel: str = ""
    time_us: float | None = None
    total: int = 0
    findings: list = field(default_factory=list)

    def op(self, code: int) -> str:
        """The name as the kernel's text has it."""
        name = self.op_names[code] if 0 <= code < len(self.op_names) else f"op {code}"
        return WRITTEN.get(name, name)

    def pipe(self, code: int) -> str:
        return self.pipe_names[code] if 0 <= code < len(self.pipe_names) else f"pipe {code}"


def read_trace(source) -> Trace:
    """A LaunchRecord (anything with `.timeline`) or the structured array itself. Raises TypeError for anything else,
    ValueError for a launch that left none.
    """
    rows = getattr(source, "timeline", source)
    if rows is None:
        raise ValueError(text("fig_no_timeline"))
    if not isinstance(rows, np.ndarray) or not {"block", "pipe", "start", "end"} <= set(rows.dtype.names or ()):
        raise TypeError(
            "want a LaunchRecord or a structured array with block, pipe, op, line, start, end; got "
            f"{type(source).__name__}"
        )

    def take(name: str, default):
        value = getattr(source, name, None)
        return default if value is None else value

    return Trace(
        rows,
        list(take("op_names", [])),
        list(take("pipe_names", PIPES)),
        str(take("time_kind", "modelled")),
        str(take("kernel", "")),
        take("time_us", None),
        int(take("timeline_total", len(rows))),
        list(take("findings", [])),
    )


@dataclass
class Bar:
    """One instruction, or `count` neighbours too small to tell apart. `ops` and `lines` are in order of first
    appearance; `share` is the part of [start, end] in which they run.
    """

    start: float
    end: float
    count: int
    ops: list[str]
    lines: list[int]
    share: float = 1.0


@dataclass
class Lane:
    block: int
    pipe: str
    rows: np.ndarray
    spans: np.ndarray  # (k, 2) disjoint busy intervals, us
    bars: list[Bar] = field(default_factory=list)
    core: str = ""  # "AIC", "AIV0" ... in a launch whose blocks have several cores

    @property
    def label(self) -> str:
        return f"{self.core} {self.pipe}".strip()

    @property
    def busy_us(self) -> float:
        return float((self.spans[:, 1] - self.spans[:, 0]).sum())

    @property
    def main_op(self) -> int:
        """The op code that takes the most time; ties go to the smaller code."""
        codes, index = np.unique(self.rows["op"], return_inverse=True)
        return int(codes[np.argmax(np.bincount(index, self.rows["end"] - self.rows["start"]))])


def _spans(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The union of intervals (sorted by start) as disjoint ones."""
    if not len(start):
        return np.zeros((0, 2))
    reach = np.maximum.accumulate(end)
    first = np.flatnonzero(np.r_[True, start[1:] > reach[:-1]])
    return np.stack([start[first], reach[np.r_[first[1:] - 1, len(end) - 1]]], axis=1)


def _rank(pipe: str) -> int:
    return LANE_ORDER.index(pipe) if pipe in LANE_ORDER else len(LANE_ORDER)


CORES = ["AIV0", "AIV1", "AIC"]  # as LaunchRecord.timeline numbers the cores of a block


def _cores(rows: np.ndarray) -> list[tuple[int, str]]:
    """(number, name) of the cores that a block has, the cube core first; the name is empty where there is but one."""
    there = np.unique(rows["core"]).tolist() if "core" in rows.dtype.names else []
    if len(there) < 2:
        return [(-1, "")]
    return [(core, CORES[core] if core < len(CORES) else f"core {core}") for core in sorted(there, reverse=True)]


def lanes_of(trace: Trace, blocks: list[int], t0: float, t1: float) -> list[Lane]:
    """Lanes that are not empty in [t0, t1], block by block, core by core, in LANE_ORDER;
    instructions are clipped to the window.
    """
    lanes = []
    for block, (core, name) in ((block, core) for block in blocks for core in _cores(trace.rows)):
        mine = trace.rows[trace.rows["block"] == block]
        mine = mine if core < 0 else mine[mine["core"] == core]
        mine = mine[(mine["end"] > t0) & (mine["start"] < t1)].copy()
        mine["start"], mine["end"] = np.maximum(mine["start"], t0), np.minimum(mine["end"], t1)
        for code in sorted(set(mine["pipe"].tolist()), key=lambda p: (_rank(trace.pipe(p)), p)):
            rows = mine[mine["pipe"] == code]
            rows = rows[np.lexsort((rows["end"], rows["start"]))]
            lanes.append(Lane(block, trace.pipe(code), rows, _spans(rows["start"], rows["end"]), core=name))
    return lanes


def merge(lane: Lane, trace: Trace, least: float, group: float) -> list[Bar]:
    """Bars of a lane. Neighbours in the same stretch of `group` us that are shorter than `least` us
    and nearer than that become one.
    """
    rows = lane.rows
    length = rows["end"] - rows["start"]
    small = length < least
    near = rows["start"][1:] - np.maximum.accumulate(rows["end"])[:-1] < max(least, group / 2)
    stretch = np.floor(rows["start"] / group)
    first = np.flatnonzero(np.r_[True, ~(small[1:] & small[:-1] & near & (stretch[1:] == stretch[:-1]))])
    last = np.r_[first[1:], len(rows)]
    ends, sums = np.maximum.reduceat(rows["end"], first), np.add.reduceat(length, first)
    bars = []
    for a, b, end, busy in zip(first.tolist(), last.tolist(), ends.tolist(), sums.tolist(), strict=True):
        head, start = rows[a : min(b, a + 200)], float(rows["start"][a])
        ops = [trace.op(code) for code in dict.fromkeys(head["op"].tolist())]
        share = min(1.0, busy / (end - start)) if end > start else 1.0
        bars.append(Bar(start, end, b - a, ops, list(dict.fromkeys(head["line"].tolist())), share))
    return bars


def merge_all(lanes: list[Lane], trace: Trace, us_per_px: float, max_bars: int) -> None:
    """Fill `bars` of all lanes: as fine as a pixel or two allows, and together no more than `max_bars`
    where merging can get there.
    """
    least = 2.0 * us_per_px
    for _ in range(24):
        for lane in lanes:
            lane.bars = merge(lane, trace, least, max(9 * us_per_px, 2 * least))
        if sum(len(lane.bars) for lane in lanes) <= max_bars:
            return
        least *= 1.5


def overlap(lanes: list[Lane]) -> float:
    """Microseconds in which two or more of the lanes are busy."""
    spans = [lane.spans for lane in lanes if len(lane.spans)]
    if len(spans) < 2:
        return 0.0
    every = np.concatenate(spans)
    times = np.r_[every[:, 0], every[:, 1]]
    steps = np.r_[np.ones(len(every)), -np.ones(len(every))]
    order = np.lexsort((steps, times))
    times, busy = times[order], np.cumsum(steps[order])
    return float((np.diff(times) * (busy[:-1] >= 2)).sum())


@dataclass
class Mark:
    """A finding at the instruction(s) it is about. `other` is the instruction it was not
    ordered against, when known.
    """

    number: int
    finding: object
    at: tuple[int, float] | None = None  # lane index, us
    other: tuple[int, float] | None = None


def marks_of(trace: Trace, lanes: list[Lane], limit: int = 6) -> list[Mark]:
    """Race findings of the shown blocks, each at its first instruction in the window."""
    shown = {lane.block for lane in lanes}
    races = [f for f in trace.findings if str(f.code).startswith("race") and f.block in shown]
    marks = []
    for number, finding in enumerate(races[:limit], 1):
        numbers = finding.numbers or {}
        mark = Mark(number, finding, _find(lanes, finding.block, numbers.get("pipe"), finding.line, None))
        if mark.at and numbers.get("other_line"):
            mark.other = _find(lanes, finding.block, numbers.get("other"), int(numbers["other_line"]), mark.at[1])
        marks.append(mark)
    return marks


def _find(lanes: list[Lane], block: int, pipe, line: int, near: float | None) -> tuple[int, float] | None:
    """(lane index, middle in us) of the instruction on a source line: the first one, or the nearest to `near`."""
    best = None
    for i, lane in enumerate(lanes):
        if lane.block != block or (pipe and lane.pipe != pipe):
            continue
        rows = lane.rows[lane.rows["line"] == line]
        if len(rows):
            middle = (rows["start"] + rows["end"]) / 2
            at = float(middle[0] if near is None else middle[np.argmin(np.abs(middle - near))])
            if best is None or (near is not None and abs(at - near) < abs(best[1] - near)):
                best = (i, at)
    return best
