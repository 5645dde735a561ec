"""trace_view.json, msprof_*.json and torch.profiler's export: events into the tables of the model.

A row belongs to what its process and thread are called, never to a pid, tid or sort index. The names may stand
anywhere in the file, so rows are kept by pid and told apart at the end.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from labkit.trace import json_stream, model
from labkit.trace.refusals import Problem, TraceError

_LARGE = 1 << 63
# of the host's own Python frames only modules are kept: the rest is half of a trace with stacks, and nothing reads it
_FRAME, _MODULE = "python_function", "nn.Module: "
_UNUSED = {_FRAME, "enqueue", "dequeue"}  # nor the two ends of torch_npu's queue: the flows lead past them
_STEP = re.compile(r"^ProfilerStep\s*#\s*(\d+)$")
_COPY = "(?i)MEMCPY|^SDMA_SQE$|PCIE_DMA"
# what a device's task is called when it is a kernel, at all levels and in all versions: AI_CORE, KERNEL_AIVEC,
# MIX_AIC, ...
_KERNEL = "AI_?CORE|AI_?VEC|AI_?CPU|MIX_AI|^DSA|FFTS|FUSION"
_CORE = {
    "KERNEL_AIVEC": "AI_VECTOR_CORE", "KERNEL_AICORE": "AI_CORE", "KERNEL_AICPU": "AI_CPU",
    "KERNEL_MIX_AIC": "MIX_AIC", "KERNEL_MIX_AIV": "MIX_AIV",
}  # fmt: skip
_LAUNCHES = ("cuda_runtime", "cuda_driver", "privateuse1_runtime", "privateuse1_driver")
_FLOWS = {"async_npu": 0, "HostToDevice": 1, "ac2g": 0}
_SIZE_NAMES = ("pid", "tid", "name", "cat", "start", "dur", "kind", "stream", "task", "dims", "types", "stack")


class _Words(dict):
    """Texts as numbers: a trace repeats a few thousand names millions of times. words[text] is its number; a dict that
    makes what is missing asks no function of Python's for what is known."""

    def __init__(self):
        super().__init__({None: -1})
        self.texts: list[str] = []

    def __missing__(self, value) -> int:
        self[value] = number = len(self.texts)
        self.texts.append(value if isinstance(value, str) else str(value))
        return number

    def all(self, values: list) -> list[int]:
        try:
            return [self[value] for value in values]
        except TypeError:  # a list or an object among them: shapes in torch.profiler's export
            return [self[str(v) if isinstance(v, (list, dict)) else v] for v in values]

    def series(self) -> pl.Series:
        return pl.Series(self.texts, dtype=pl.String)

    def column(self, codes: np.ndarray, kind=pl.String) -> pl.Series:
        """The texts of `codes`; with pl.Categorical each is kept once."""
        if not len(codes) or not self.texts:
            return pl.Series([None] * len(codes), dtype=kind)
        picked = self.series().cast(kind).gather(pl.Series(np.where(codes < 0, 0, codes)))
        return (
            pl.DataFrame({"text": picked, "code": codes}).select(pl.when(pl.col("code") >= 0).then("text")).to_series()
        )


@dataclass
class _Numbers:
    """A column that grows a block at a time."""

    kind: type
    parts: list[np.ndarray]

    def add(self, values: list) -> None:
        self.parts.append(np.array(values, self.kind))

    def whole(self) -> np.ndarray:
        found = np.concatenate(self.parts) if self.parts else np.empty(0, self.kind)
        self.parts = []
        return found


def _whole(value) -> int:
    """A number of the file as an int, -1 for what is none; ids of flows go beyond 64 bits."""
    if value.__class__ is int:
        return value if -_LARGE <= value < _LARGE else value % _LARGE
    try:
        return int(value) % _LARGE
    except (TypeError, ValueError):
        return -1 if value is None else hash(str(value)) % _LARGE


def _real(value) -> float:
    if value.__class__ is float:
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


class _Collector:
    """Takes blocks of events; keeps what something reads, as numbers."""

    def __init__(self):
        self.words = _Words()
        self.rows = {
            name: _Numbers(kind, [])
            for name, kind in zip(
                _SIZE_NAMES, (np.int32, np.int64, np.int32, np.int32, np.int64, np.float64, np.int32, np.int64,
                              np.int64, np.int32, np.int32, np.int32),
            )
        }  # fmt: skip
        self.flows = {  # (which, phase) -> ids, times and threads
            (which, phase): [_Numbers(np.int64, []) for _ in range(3)] for which in (0, 1) for phase in "sf"
        }
        self.moves: list[tuple] = []  # tasks of communication and copies with a size: (row, source, target, ...)
        self.processes: dict[int, str] = {}
        self.threads: dict[tuple[int, int], str] = {}
        self.count = 0
        self.step_names: dict[int, int] = {}
        self.untimed = 0

    def add(self, block: list[json_stream.Event]) -> None:
        words, rows = self.words, self.rows
        ns = json_stream.nanoseconds
        names = [e for e in block if e.ph == "M" and e.args is not None]
        for e in names:
            if e.name == "process_name":
                self.processes[words.all([e.pid])[0]] = str(e.args.name)
            elif e.name == "thread_name":
                self.threads[words.all([e.pid])[0], _whole(e.tid)] = str(e.args.name)
        kept = [
            e
            for e in block
            if e.ph == "X" and (e.cat not in _UNUSED or (e.name.__class__ is str and e.name.startswith(_MODULE)))
        ]
        times = [ns(bytes(e.ts)) for e in kept]
        if None in times:
            self.untimed += times.count(None)
            kept = [e for e, t in zip(kept, times) if t is not None]
            times = [t for t in times if t is not None]
        none = json_stream.Args()
        args = [e.args or none for e in kept]
        rows["pid"].add(words.all([e.pid for e in kept]))
        rows["tid"].add([_whole(e.tid) for e in kept])
        rows["name"].add(words.all([e.name for e in kept]))
        rows["cat"].add(words.all([e.cat for e in kept]))
        rows["start"].add(times)
        rows["dur"].add([_real(e.dur) for e in kept])
        rows["kind"].add(words.all([a.task_type for a in args]))
        rows["stream"].add([_whole(a.stream if a.gpu_stream is None else a.gpu_stream) for a in args])
        rows["task"].add([_whole(a.task if a.correlation is None else a.correlation) for a in args])
        rows["dims"].add(words.all([a.dims if a.gpu_dims is None else a.gpu_dims for a in args]))
        rows["types"].add(words.all([a.types if a.data_type is None else a.data_type for a in args]))
        rows["stack"].add(words.all([a.stack for a in args]))
        for i, a in enumerate(args, self.count):
            if a.source is not None or a.size_b is not None or a.size is not None:
                size = a.size if a.size is not None else a.size_b
                self.moves.append((i, _whole(a.source), _whole(a.target), _real(size), a.transport, _real(a.bandwidth)))
        self.count += len(kept)
        joined = [e for e in block if (e.ph == "s" or e.ph == "f") and e.cat in _FLOWS]
        for which, phase in self.flows:
            some = [(e, ns(bytes(e.ts))) for e in joined if e.ph == phase and _FLOWS[e.cat] == which]
            some = [(e, t) for e, t in some if t is not None]
            ids, moments, threads = self.flows[which, phase]
            ids.add([_whole(e.id) for e, _ in some])
            moments.add([t for _, t in some])
            threads.add([_whole(e.tid) for e, _ in some])


def read(
    path: Path, trace: model.Trace, progress: Callable[[int], None] | None = None, listed: bool = False
) -> pl.DataFrame:
    """Fills `trace` with everything but the kernels; returns those, with start_ns. Raises TraceError for no trace.
    `listed`: a CSV has the kernels too, and only the host's times of each are wanted here."""
    ending = json_stream.Ending()
    collector = _Collector()
    for block in json_stream.events(path, ending, progress):
        collector.add(block)
        del block  # the next one is decoded before the name is bound again: two blocks of objects would be alive
    if ending.size == 0:
        raise TraceError("empty_file", path=path)
    if not ending.listed or (ending.events == 0 and ending.broken is not None):
        raise TraceError("not_trace", path=path)
    if ending.broken is not None:
        trace.problems.append(
            Problem(
                "truncated", {"path": str(path), "byte": ending.broken, "size": ending.size, "events": ending.events}
            )
        )
    if collector.count == 0:
        raise TraceError("no_events", path=path, events=ending.events)
    return _sorted_out(collector, trace, listed)


def _kind_of(process: str) -> str:
    low = process.lower()
    if low in ("hccl", "communication"):
        return "comm"
    if low.startswith("ascend hardware") or low.startswith("npu") or low.startswith("task scheduler"):
        return "device"
    if low == "cann" or low.startswith("acl") or low == "runtime":
        return "calls"
    if low.startswith("overlap analysis"):
        return "overlap"
    if low.startswith("python gc"):
        return "other"
    if low.startswith("python"):
        return "host"
    return "other"


_ORDER = ("host", "calls", "device", "comm", "overlap", "other")


class _Rows:
    """The kept events as columns, told apart by what their process is called."""

    def __init__(self, collector: _Collector, trace: model.Trace):
        self.collector, self.words = collector, collector.words
        self.columns = {name: column.whole() for name, column in collector.rows.items()}
        pid, cat = self.columns.pop("pid"), self.columns["cat"]
        if trace.base_ns == 0:
            trace.base_ns = int(self.columns["start"].min())
        self.base = trace.base_ns
        self.kind_of = {int(p): _kind_of(collector.processes.get(int(p), "")) for p in np.unique(pid)}
        table = np.full(int(pid.max()) + 2, _ORDER.index("other"), np.int8)
        for p, kind in self.kind_of.items():
            table[p] = _ORDER.index(kind)
        self.kinds = table[pid]

        def of(*names: str) -> np.ndarray:
            return np.isin(cat, [self.words.get(name, -2) for name in names])

        # torch.profiler's export has no names of processes that say as much: there the category does
        self.kinds[of("cpu_op", _FRAME, "user_annotation")] = _ORDER.index("host")
        self.kinds[of("kernel", "gpu_memcpy", "gpu_memset")] = _ORDER.index("device")
        self.kinds[of(*_LAUNCHES)] = _ORDER.index("calls")

    def which(self, kind: str) -> np.ndarray:
        return np.flatnonzero(self.kinds == _ORDER.index(kind))

    def take(self, which: np.ndarray, **names: str) -> pl.DataFrame:
        """The rows `which` as a table: our name = the column's."""
        found: dict = {}
        for ours, column in names.items():
            values = self.columns[column][which]
            if column in ("name", "kind", "dims", "types", "stack", "cat"):
                found[ours] = self.words.column(values, pl.Categorical if ours == "stack" else pl.String)
            else:
                found[ours] = values
        start = self.columns["start"][which]
        found |= {"start_ns": start, "start": (start - self.base) / 1000.0, "dur": self.columns["dur"][which]}
        return pl.DataFrame(found)


def _sorted_out(collector: _Collector, trace: model.Trace, listed: bool) -> pl.DataFrame:
    rows = _Rows(collector, trace)
    # the flows first: what they are made of is freed before the tables grow
    torch, runtime = _flow_times(collector, rows.base, 0), _flow_times(collector, rows.base, 1)
    _give_back()
    if not trace.generation:
        names = {name.lower() for name in collector.processes.values()}
        trace.generation = "CANN 9" if "communication" in names else "CANN 6 to 8" if "hccl" in names else ""
    _host(rows, trace)
    _calls(rows, trace)
    trace.overlap = model.fitted(rows.take(rows.which("overlap"), kind="name"), model.OVERLAP)
    _communication(rows, trace, torch, runtime)
    return _device(rows, trace, torch, runtime, listed)


def _give_back() -> None:
    """Has glibc return what is free to the system. The collector's columns grew by thousands of small pieces, and after
    they were joined their places stay with the process: an eighth of what reading a gigabyte takes."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):  # another C library
        pass


def _host(rows: _Rows, trace: model.Trace) -> None:
    which = rows.which("host")
    host = rows.take(which, name="name", thread="tid", shapes="dims", types="types", stack="stack")
    host = host.drop("start_ns").with_columns(
        pl.when(pl.col("name").str.starts_with("ProfilerStep"))
        .then(pl.lit("step"))
        .when(pl.col("name").str.starts_with(_MODULE))
        .then(pl.lit("module"))
        .otherwise(pl.lit("op"))
        .alias("kind")
    )
    trace.host = model.fitted(host.sort("start", maintain_order=True), model.HOST)
    steps = host.filter(pl.col("kind") == "step").with_columns(
        pl.col("name").str.extract(_STEP.pattern, 1).cast(pl.Int64, strict=False).alias("step")
    )
    trace.steps = model.fitted(steps.unique("step", keep="first"), model.STEPS).sort("start")


def _calls(rows: _Rows, trace: model.Trace) -> None:
    """Calls into CANN: "AscendCL@aclrtSynchronizeStream"."""
    calls = rows.take(rows.which("calls"), name="name", thread="tid").drop("start_ns")
    parts = calls["name"].str.splitn("@", 2).struct
    calls = calls.with_columns(
        parts.field("field_0").alias("level"), parts.field("field_1").fill_null(calls["name"]).alias("name")
    )
    trace.calls = model.fitted(calls.sort("start"), model.CALLS)


def _communication(rows: _Rows, trace: model.Trace, torch: Flow, runtime: Flow) -> None:
    """Collectives lie on "Group N Communication", their tasks on "Plane N"."""
    collector = rows.collector
    comm = rows.take(rows.which("comm"), name="name", tid="tid", types="types")
    groups = {
        tid: name
        for (pid, tid), name in collector.threads.items()
        if rows.kind_of.get(pid) == "comm" and "plane" not in name.lower()
    }
    on_group = comm["tid"].is_in(list(groups)) if groups else comm["name"].str.contains(r"^(hcom_|Hccl|HCCL_)")
    operators = comm.filter(on_group).with_columns(pl.col("tid").replace_strict(groups, default="").alias("group"))
    trace.comm = model.fitted(_linked(operators, torch, runtime), model.COMM).sort("start")
    if not collector.moves:
        return
    names = ["row", "source", "target", "bytes", "link", "bandwidth"]
    moves = pl.DataFrame(collector.moves, schema=names, orient="row", strict=False)
    at = moves["row"].to_numpy()
    moves = moves.with_columns(
        rows.words.column(rows.columns["name"][at]).alias("name"),
        pl.Series("start", (rows.columns["start"][at] - rows.base) / 1000.0),
        pl.Series("dur", rows.columns["dur"][at]),
    )
    moves = moves.filter(pl.Series(rows.kinds[at] == _ORDER.index("comm")))
    trace.comm_tasks = model.fitted(moves, model.COMM_TASKS)


def _device(rows: _Rows, trace: model.Trace, torch: Flow, runtime: Flow, listed: bool) -> pl.DataFrame:
    """The device's streams: copies and events into `trace`, kernels returned."""
    which = rows.which("device")
    kinds = rows.take(which, core="kind", name="name", cat="cat").select(pl.col("core", "name", "cat").fill_null(""))
    copy = (
        pl.col("core").str.contains(_COPY) | pl.col("name").str.contains("(?i)memcpy") | (pl.col("cat") == "gpu_memcpy")
    )
    kinds = kinds.select(
        copy.alias("copy"),
        ((pl.col("core").str.contains(_KERNEL) & ~copy) | (pl.col("cat") == "kernel")).alias("kernel"),
    )
    copies, is_kernel = kinds["copy"].to_numpy(), kinds["kernel"].to_numpy()
    others = rows.take(which[~is_kernel], name="name", core="kind", tid="tid", stream="stream")
    sizes = {row[0]: row[3] for row in rows.collector.moves}
    others = others.with_columns(
        pl.when(pl.Series(copies[~is_kernel]))
        .then(pl.lit("copy"))
        .when(pl.col("core").fill_null("").str.contains("(?i)event|notify"))
        .then(pl.lit("event"))
        .otherwise(pl.lit("other"))
        .alias("kind"),
        pl.Series("bytes", [sizes.get(int(i)) for i in which[~is_kernel]], dtype=pl.Float64),
    )
    # what the streams of communication copy is shown there as well
    shown = trace.comm_tasks["start"].to_list()
    others = others.filter(~((pl.col("kind") == "copy") & pl.col("start").is_in(shown)))
    trace.tasks = model.fitted(_linked(others, torch, runtime), model.TASKS).sort("start")
    which = which[is_kernel]
    if listed:
        kernels = rows.take(which, core="kind").select("start_ns", "core")
    else:
        kernels = rows.take(
            which, name="name", core="kind", tid="tid", stream="stream", task="task", in_shapes="dims"
        ).with_columns(
            pl.when(pl.col("stream") < 0).then(pl.col("tid")).otherwise(pl.col("stream")).alias("stream"),
            pl.col("name").str.extract(r"^aclnn\w+?_(\w+)$", 1).str.split("_").list.last().alias("type"),
        )
    kernels = _linked(kernels.with_columns(pl.col("core").replace(_CORE)), torch, runtime)
    return _correlated(rows, which, kernels)


def _correlated(rows: _Rows, which: np.ndarray, kernels: pl.DataFrame) -> pl.DataFrame:
    """torch.profiler's export joins a kernel and the call that launched it by a number instead of an arrow."""
    called = np.flatnonzero(np.isin(rows.columns["cat"], [rows.words.get(c, -2) for c in _LAUNCHES]))
    if not len(called) or not kernels.height:
        return kernels
    numbers = rows.columns["task"][called]
    called, numbers = called[np.argsort(numbers, kind="stable")], np.sort(numbers)
    wanted = rows.columns["task"][which]
    at = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
    known = (numbers[at] == wanted) & (wanted >= 0)
    moments = np.where(known, (rows.columns["start"][called[at]] - rows.base) / 1000.0, np.nan)
    threads = pl.Series(rows.columns["tid"][called[at]])
    times = pl.Series(moments).fill_nan(None)
    return kernels.with_columns(
        pl.col("issued").fill_null(times), pl.col("op_time").fill_null(times), pl.col("op_thread").fill_null(threads)
    )


def _flow_times(collector: _Collector, base: int, which: int) -> Flow:
    """The flows of one kind: the device's moments in order, the host's time and thread for each."""
    begins, their_times, their_threads = (column.whole() for column in collector.flows.pop((which, "s")))
    ends, moments, _ = (column.whole() for column in collector.flows.pop((which, "f")))
    if not len(begins) or not len(ends):
        return Flow(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))
    order = np.argsort(begins, kind="stable")
    begins = begins[order]
    at = np.minimum(np.searchsorted(begins, ends), len(begins) - 1)
    known = begins[at] == ends
    at, moments = order[at[known]], moments[known]
    order = np.argsort(moments, kind="stable")
    at = at[order]
    return Flow(moments[order], (their_times[at] - base) / 1000.0, their_threads[at])


@dataclass
class Flow:
    """Arrows from the host to the device: they end at the exact moment at which a task starts."""

    moments: np.ndarray  # ns, in order
    host: np.ndarray  # µs since the trace's base
    threads: np.ndarray

    def at(self, start_ns: pl.Series) -> tuple[pl.Series, pl.Series]:
        """The host's time and thread for tasks that start at `start_ns`; null where no arrow ends there."""
        wanted = start_ns.to_numpy()
        if not len(self.moments) or not len(wanted):
            return pl.Series([None] * len(wanted), dtype=pl.Float64), pl.Series([None] * len(wanted), dtype=pl.Int64)
        at = np.minimum(np.searchsorted(self.moments, wanted), len(self.moments) - 1)
        known = pl.Series(self.moments[at] == wanted)
        frame = pl.DataFrame({"known": known, "host": self.host[at], "thread": self.threads[at]})
        frame = frame.select(pl.when("known").then(c).alias(c) for c in ("host", "thread"))
        return frame["host"], frame["thread"]


def _linked(table: pl.DataFrame, torch: Flow, runtime: Flow) -> pl.DataFrame:
    """With `issued`, `op_time`, `op_thread`: when the runtime, and which operator, handed each row to the device."""
    if not table.height:
        return table
    issued, _ = runtime.at(table["start_ns"])
    time, thread = torch.at(table["start_ns"])
    table = table.with_columns(issued.alias("issued"), time.alias("op_time"), thread.alias("op_thread"))
    return table.with_columns(pl.col("issued").fill_null(pl.col("op_time")))
