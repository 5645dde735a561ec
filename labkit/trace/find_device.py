"""Findings from the gaps of a device: the host, synchronisations, copies, communication, compiling, the data loader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from labkit.trace import idle, intervals, model
from labkit.trace.finding import FLOOR, Finding, time


@dataclass
class Context:
    """What a rule looks at: one rank, its gaps, the mean time of a step."""

    trace: model.Trace
    idle: idle.Idle
    step: float
    waiting: float = 0.0

    @cached_property
    def kernels(self) -> pl.DataFrame:
        return self.trace.compute()

    def finding(self, code: str, total: float, evidence: list[dict], **fields) -> Finding:
        """A finding worth `total` µs of the whole recording."""
        gain = total / self.trace.step_count()
        return Finding(code, gain, gain / self.step, {"step": time(self.step), **fields}, evidence)


def host_bound(c: Context) -> Iterator[Finding]:
    total = c.idle.total("host")
    if total < FLOOR * c.idle.length:
        return
    gaps = c.idle.parts["host"] > 0
    issued = c.kernels["issued"].drop_nulls().sort().diff().drop_nulls()
    yield c.finding(
        "host-bound",
        total,
        _at_kernels(c, "host"),
        gaps=int(gaps.sum()),
        kernels=c.kernels.height,
        kernel=time(c.kernels["dur"].median() or 0.0),
        issue=time(issued.median() or 0.0),
        chain=longest_run(gaps, c),
    )


def longest_run(gaps: np.ndarray, c: Context) -> int:
    """Kernels one behind the other of which each waited for the host."""
    starts = np.sort(c.kernels["start"].to_numpy())
    waited = np.zeros(len(starts) + 1, bool)
    waited[np.searchsorted(starts, c.idle.ends[gaps] - 1e-6)] = True
    best = run = 0
    for value in waited[:-1]:
        run = run + 1 if value else 0
        best = max(best, run)
    return best


def _at_kernels(c: Context, cause: str, count: int = 3) -> list[dict]:
    """The kernels behind the largest gaps of a cause."""
    rows = c.idle.largest(cause, count)
    order = c.kernels.select("start", "name").sort("start")
    starts = order["start"].to_numpy()
    for row in rows:
        i = int(np.searchsorted(starts, row["start"] + row["dur"] - 1e-6))
        row["name"] = order["name"][i] if i < order.height else cause
    return rows


def synchronisation(c: Context) -> Iterator[Finding]:
    total = c.idle.total("synchronisation")
    if total < FLOOR * c.idle.length:
        return
    starts, ends = c.idle.blocked
    called = waited_in(c)
    calls = c.trace.calls.filter(pl.col("name").str.contains(r"(?i)synchronize|^aclrtMemcpy$"))
    longest = calls.group_by("name").agg(pl.col("dur").sum()).sort("dur", "name", descending=[True, False])
    by = called or (longest["name"][0] if calls.height else "?")
    yield c.finding(
        "synchronisation",
        total,
        _at_kernels(c, "synchronisation"),
        count=round(len(starts) / c.trace.step_count(), 1),
        by=by,
        waited=time(intervals.total((starts, ends)) / c.trace.step_count()),
    )


def waited_in(c: Context) -> str:
    """The operator in which the host waits longest in all: "aten::item"."""
    operators = c.trace.host.filter(
        (pl.col("kind") == "op")
        & pl.col("name").str.contains(r"^aten::(item|is_nonzero|nonzero|copy_|to|cpu)$|ynchronize")
    ).sort("start")
    if not operators.height:
        return ""
    begins, ends = operators["start"].to_numpy(), model.ends(operators)
    names = operators["name"].to_list()
    sums: dict[str, float] = {}
    for start, end in zip(*c.idle.blocked):
        middle = (start + end) / 2
        i = int(np.searchsorted(begins, middle, side="right")) - 1
        while i >= 0 and ends[i] < middle and begins[i] > middle - 1e5:  # one that is over already: look further back
            i -= 1
        if i >= 0 and ends[i] >= middle:
            sums[names[i]] = sums.get(names[i], 0.0) + end - start
    return max(sums, key=lambda name: (sums[name], name), default="")


def copies(c: Context) -> Iterator[Finding]:
    total = c.idle.total("copy")
    # at best a copy hides behind computing
    total = min(total, c.idle.busy)
    if total < FLOOR * c.idle.length:
        return
    rows = idle.large_copies(c.trace).sort("dur", descending=True)
    starts = rows["start"].to_numpy()
    behind = intervals.covered(starts, model.ends(rows), c.idle.blocked)
    blocking = float(behind.sum()) >= 0.5 * float(rows["dur"].sum())
    size = float(rows["bytes"].fill_null(0).sum())
    evidence = [
        {"name": r["name"], "start": r["start"], "dur": r["dur"], "bytes": r["bytes"]}
        for r in rows.head(3).iter_rows(named=True)
    ]
    yield c.finding(
        "blocking-copy" if blocking or not len(c.idle.blocked[0]) else "exposed-copy",
        total,
        evidence,
        count=round(rows.height / c.trace.step_count(), 1),
        copying=time(rows["dur"].sum() / c.trace.step_count()),
        mb=f"{size / 2**20 / c.trace.step_count():.1f} MB" if size else "?",
        rate=f"{size / rows['dur'].sum() / 1000:.1f} GB/s" if size else "?",
    )


def communication(c: Context) -> Iterator[Finding]:
    comm = c.trace.communicating()
    everything, exposed = intervals.total(comm), c.idle.total("communication")
    hidden = 1 - float(intervals.covered(c.idle.starts, c.idle.ends, comm).sum()) / everything if everything else 1.0
    times = c.trace.comm_times
    elapsed = float(times["elapsed"].sum() or 0.0)
    moving = min(float(times["transit"].sum() or 0.0) / elapsed, 1.0) if elapsed else 1.0
    # what a rank only waited for another one is that one's finding
    rest = max(exposed - c.waiting, 0.0)
    moved = min(rest, exposed * moving)
    rows = c.trace.comm.sort("dur", descending=True)
    evidence = [{"name": r["name"], "start": r["start"], "dur": r["dur"]} for r in rows.head(3).iter_rows(named=True)]
    fields = {
        "exposed": time(exposed / c.trace.step_count()), "communication": time(everything / c.trace.step_count()),
        "overlapped": f"{100 * hidden:.0f} %", "count": round(rows.height / c.trace.step_count(), 1),
        "moving": f"{100 * moving:.0f} %" if elapsed else "?",
    }  # fmt: skip
    # at best it hides behind computing
    if (total := min(moved, c.idle.busy)) >= FLOOR * c.idle.length:
        yield c.finding("exposed-communication", total, evidence, **fields)
    if (total := rest - moved) >= FLOOR * c.idle.length:
        yield c.finding("communication-wait", total, evidence, **fields)


def compiling(c: Context) -> Iterator[Finding]:
    total = c.idle.total("compile")
    if total < FLOOR * c.idle.length:
        return
    names = [n for n in c.trace.calls["name"].unique().to_list() if n and re.search(idle.COMPILES, n)]
    rows = c.trace.calls.filter(pl.col("name").is_in(names)).sort("dur", descending=True)
    steps = c.trace.steps
    late = rows
    if steps.height > 1:
        second = float(steps.sort("start")["start"][1])
        late = rows.filter(pl.col("start") >= second)
    shapes = c.kernels.group_by("type").agg(pl.col("in_shapes").n_unique().alias("n"))
    shapes = shapes.sort(["n", "type"], descending=[True, False])  # of equal ones the same in every run
    code = "recompilation" if late.height or steps.height <= 1 else "first-compilation"
    yield c.finding(
        code,
        total,
        [{"name": r["name"], "start": r["start"], "dur": r["dur"]} for r in rows.head(3).iter_rows(named=True)],
        count=len(model.spans(rows)[0]),  # aclopCompileAndExecute holds an opCompile
        type=shapes["type"][0] if shapes.height else "?",
        shapes=int(shapes["n"][0]) if shapes.height else "?",
    )


def data_loading(c: Context) -> Iterator[Finding]:
    total = c.idle.total("data")
    if total < FLOOR * c.idle.length:
        return
    rows = c.trace.host.filter(pl.col("name").fill_null("").str.contains(idle.LOADS)).sort("dur", descending=True)
    yield c.finding(
        "data-loading",
        total,
        [{"name": r["name"], "start": r["start"], "dur": r["dur"]} for r in rows.head(3).iter_rows(named=True)],
        longest=time(rows["dur"].max() or 0.0),
        median=time(rows["dur"].median() or 0.0),
    )


def unexplained(c: Context) -> Iterator[Finding]:
    total = c.idle.total("unknown")
    if total < FLOOR * c.idle.length or c.kernels["issued"].null_count() < c.kernels.height:
        return  # single kernels without a flow say nothing
    yield c.finding("idle", total, _at_kernels(c, "unknown"), files=", ".join(c.trace.files))


RULES = (host_bound, synchronisation, copies, communication, compiling, data_loading, unexplained)
