"""Why the device does not compute: each gap between kernels and its cause.

A gap is a time in which no stream computes. What it is put down to, in this order:
- communication, copies: a collective or a copy ran in it;
- compiling, the allocator, the data loader: the host was in such a call;
- what then remains of the gap goes to the largest of these when that is at least as long. Otherwise:
- device: the next kernel had been issued before the gap began, with more than the way to the device holds (IN_FLIGHT)
  in front of it, so it waited for an event;
- synchronisation: the host came back from a waiting call within the gap, and only then could issue the next kernel;
- host: the next kernel was issued in the gap, after no such call, or was on its way with hardly anything before it;
- unknown: the files do not say when a kernel was issued.
A host that would keep ahead if it were let is not too slow: where synchronisations stand in the trace and the host's
own work is shorter than the device's, the gaps behind a synchronisation count as its consequence.
What lies before the first recorded task counts only as far as the device is known to have been idle: it may still have
worked on what was issued before the recording began.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from labkit.trace import intervals, model

SYNCHRONISES = (
    r"(?i)^aclrtSynchronize|^aclrtMemcpy$|^(cuda|cu)\w*Synchronize|^npuSynchronize|^aclrtQueryEventWaitStatus$"
)
WAITING_OPERATORS = r"^(aten::(item|_local_scalar_dense|is_nonzero|nonzero)|.*[sS]ynchronize.*)$"
COMPILES = r"(?i)^(op_?compile|aclopCompile(AndExecute(V2)?)?|aclgrphBuildModel|GE_?Compile\w*)$"
ALLOCATES = r"^aclrt(Malloc|Free)(?!Host)(Align32|Physical|Cached)?$|^aclrt(Map|Unmap|Reserve|Release)Mem(Address)?$"
LOADS = r"^enumerate\(DataLoader\)|DataLoader.*__next__"
# A launch passes three stages: the thread that runs Python, torch_npu's thread that launches, the device's scheduler.
# Up to so many kernels can be under way while the device is idle, and it is still the host that it waits for.
IN_FLIGHT = 3
# A copy of a page or less takes the latency of any copy, whatever its size; where sizes are not recorded, one of at
# most so long (a page's latency: 2 to 10 us in published traces) is taken for one.
SMALL_BYTES, SMALL_US = 4096, 12.0
CAUSES = (
    "communication", "copy", "compile", "allocator", "data", "synchronisation", "host", "device", "unknown",
)  # fmt: skip


@dataclass
class Idle:
    """The gaps of one trace, and their times by cause, in µs."""

    starts: np.ndarray
    ends: np.ndarray
    parts: dict[str, np.ndarray]  # cause -> µs of each gap
    start: float
    end: float
    busy: float
    host_work: float  # of the host between the first and the last kernel's issue, without waiting
    blocked: intervals.Spans

    def total(self, cause: str) -> float:
        return float(self.parts[cause].sum())

    @property
    def length(self) -> float:
        return self.end - self.start

    def largest(self, cause: str, count: int = 3) -> list[dict]:
        """The gaps with most of a cause, as evidence."""
        values = self.parts[cause]
        best = [i for i in np.argsort(-values, kind="stable")[:count] if values[i] > 0]
        return [{"name": cause, "start": float(self.starts[i]), "dur": float(values[i])} for i in best]

    def between(self, cause: str, start: float, end: float) -> float:
        inside = (self.starts >= start) & (self.starts < end)
        return float(self.parts[cause][inside].sum())


def without_lazy(spans: intervals.Spans, *others: intervals.Spans) -> intervals.Spans:
    for other in others:
        spans = intervals.subtract(spans, other)
    return spans


def _calls(trace: model.Trace, pattern: str) -> intervals.Spans:
    # Polars' regular expressions know no look-ahead
    names = trace.calls["name"].unique().to_list()
    import re

    chosen = [n for n in names if n and re.search(pattern, n)]
    return model.spans(trace.calls.filter(pl.col("name").is_in(chosen)))


def _operators(trace: model.Trace, pattern: str) -> intervals.Spans:
    return model.spans(trace.host.filter(pl.col("name").fill_null("").str.contains(pattern)))


def blocked(trace: model.Trace) -> intervals.Spans:
    """When the host waited for the device. From the runtime's calls; at Level0, from operators that have to wait."""
    found = _calls(trace, SYNCHRONISES)
    return found if trace.calls.height else _operators(trace, WAITING_OPERATORS)


def large_copies(trace: model.Trace) -> pl.DataFrame:
    small = pl.when(pl.col("bytes").is_null()).then(pl.col("dur") <= SMALL_US).otherwise(pl.col("bytes") <= SMALL_BYTES)
    return trace.copies().filter(~small)


def in_flight(kernels: pl.DataFrame, moments: np.ndarray) -> np.ndarray:
    """How many kernels had been issued and not begun at each moment."""
    known = kernels.drop_nulls("issued")
    issued, starts = np.sort(known["issued"].to_numpy()), np.sort(known["start"].to_numpy())
    return np.searchsorted(issued, moments, side="left") - np.searchsorted(starts, moments, side="right")


def _beginning(trace: model.Trace, start: float, waits: intervals.Spans) -> float:
    """The window's begin without the time in which the device was still at work on what is not recorded."""
    rows = trace.compute().select("start", "issued").sort("start")
    if not rows.height:
        return start
    first, issued = rows.row(0)
    if first <= start:
        return start
    before = (waits[0] < first) & (waits[1] <= first) & (waits[1] > start)
    if before.any():  # the host waited for it
        start = float(waits[1][before].max())
    if issued is None or first - issued > issued - start:  # it lay in the queue for longer than it took to come there
        return float(first)
    return start


def account(trace: model.Trace) -> Idle:
    """Every gap of the trace with its cause."""
    start, end = trace.window()
    waits = blocked(trace)
    start = _beginning(trace, start, waits)
    kernels = trace.compute()
    busy = model.spans(kernels)
    if kernels.height:  # what lies behind the last kernel is no gap between kernels; before the first one it is
        end = max(float(busy[1][-1]), model.spans(trace.comm)[1].max() if trace.comm.height else 0.0)
    starts, ends = intervals.gaps(busy, start, end)
    comm = trace.communicating()
    # a scalar that is fetched is a synchronisation, not a matter of copying
    copies = without_lazy(model.spans(large_copies(trace)), comm)
    compiling = without_lazy(_calls(trace, COMPILES), comm, copies)
    allocating = without_lazy(_calls(trace, ALLOCATES), comm, copies, compiling)
    loading = without_lazy(_operators(trace, LOADS), comm, copies, compiling, allocating)
    known = {"communication": comm, "copy": copies, "compile": compiling, "allocator": allocating, "data": loading}
    parts = {cause: intervals.covered(starts, ends, spans) for cause, spans in known.items()}
    parts |= {cause: np.zeros(len(starts)) for cause in CAUSES if cause not in parts}
    rest = np.maximum(ends - starts - sum(parts[c] for c in known), 0.0)
    if len(starts):
        table = np.stack([parts[c] for c in known])
        main = table.argmax(axis=0)
        takes = table.max(axis=0) >= np.maximum(rest, 1e-9)
        for i, cause in enumerate(known):
            mine = takes & (main == i)
            parts[cause][mine] += rest[mine]
        rest[takes] = 0.0
    order = kernels.select("start", "issued").sort("start")
    at = np.searchsorted(order["start"].to_numpy(), ends - 1e-6)
    # the last gap ends with the window when communication runs on behind the last kernel
    issued = np.append(order["issued"].to_numpy().astype(float), np.nan)[at] if len(starts) else np.empty(0)
    last_wait = np.searchsorted(waits[1], ends, side="right") - 1
    returned = np.where(last_wait >= 0, waits[1][np.maximum(last_wait, 0)] if len(waits[1]) else -np.inf, -np.inf)
    returns = returned >= starts
    early = (issued <= starts) & (in_flight(order, issued) > IN_FLIGHT)
    causes = np.select(
        [early, returns, np.isnan(issued)], ["device", "synchronisation", "unknown"], "host"
    ) if len(starts) else np.empty(0, "U1")  # fmt: skip
    for cause in ("device", "synchronisation", "unknown", "host"):
        parts[cause] = np.where(causes == cause, rest, 0.0)
    found = Idle(starts, ends, parts, start, end, intervals.total(busy), 0.0, waits)
    _blame(trace, found, intervals.union(*map(np.concatenate, zip(busy, comm, copies))))
    return found


def _blame(trace: model.Trace, idle: Idle, device: intervals.Spans) -> None:
    """The host's own work, and whether its gaps are the consequence of synchronisations."""
    issued = trace.kernels["issued"].drop_nulls().to_numpy()
    if not len(issued):
        return
    first, last = float(issued.min()), float(issued.max())
    inside = intervals.common(idle.blocked, (np.array([first]), np.array([last])))
    other = sum(idle.total(c) for c in ("compile", "allocator", "data"))
    idle.host_work = max(last - first - intervals.total(inside) - other, 0.0)
    if idle.total("synchronisation") > 0 and idle.host_work <= intervals.total(device):
        idle.parts["synchronisation"] = idle.parts["synchronisation"] + idle.parts["host"]
        idle.parts["host"] = np.zeros_like(idle.parts["host"])
