"""What lies at a path, and reading it: one rank or several, text, database, msprof's folders, single files."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from labkit.trace import csv_tables, database, model, timeline_file
from labkit.trace.refusals import Problem, TraceError, why_no_kernels

OUTPUT, MSPROF_OUTPUT = "ASCEND_PROFILER_OUTPUT", "mindstudio_profiler_output"
_TIMELINE = re.compile(r"^(trace_view|msprof(_slice)?(_\d+)*|trace)\.json$")
_SUMMARY = re.compile(r"^(op_summary(_\d+)*|kernel_details)\.csv$")
_DATABASE = re.compile(r"^(ascend_(pytorch|mindspore)_profiler(_\d+)?|msprof(_\d+)*)\.db$")


@dataclass
class Source:
    """The files of one rank."""

    home: Path
    kind: str
    timeline: list[Path] = field(default_factory=list)
    kernels: list[Path] = field(default_factory=list)
    database: Path | None = None
    folder: Path | None = None  # where the other files of the output lie

    @property
    def sizes(self) -> int:
        return sum(p.stat().st_size for p in self.timeline)


def sources(path: Path) -> list[Source]:
    """The ranks at `path`, each with its files. Raises TraceError where there is none."""
    if not path.exists():
        raise TraceError("no_path", path=path)
    if path.is_file():
        return [_file(path)]
    if found := _folder(path):
        return [found]
    if path.name.startswith("OPPROF_") or any(path.glob("OPPROF_*")):
        raise TraceError("one_kernel", path=path)
    found = []
    for inner in sorted(p for p in path.iterdir() if p.is_dir()):
        try:
            if source := _folder(inner):
                found.append(source)
        except TraceError as error:
            if not found:
                refused = error
            continue
    if not found:
        for depth in ("*/*", "*/*/*"):
            for inner in sorted(
                p for p in path.glob(depth) if p.is_dir() and re.search(r"_ascend_(pt|ms)$|^PROF_", p.name)
            ):
                if not re.search(r"_ascend_(pt|ms)$", inner.parent.name) and (source := _folder(inner)):
                    found.append(source)
            if found:
                break
    if found:
        return found
    if "refused" in locals():
        raise refused
    raise TraceError("no_profile", path=path, files=", ".join(sorted(p.name for p in path.iterdir())[:6]) or "-")


def _file(path: Path) -> Source:
    if path.stat().st_size == 0:
        raise TraceError("empty_file", path=path)
    if path.suffix == ".json":
        if path.name.startswith(("communication", "profiler_info", "profiler_metadata")):
            raise TraceError("side_file", path=path, folder=path.parent)
        return Source(path, "trace_view", timeline=[path])
    if path.suffix == ".csv":
        return Source(path, "op_summary" if path.name.startswith("op_summary") else "kernel_details", kernels=[path])
    if path.suffix == ".db":
        return Source(path, "database", database=path)
    if path.name.endswith((".json.gz", ".tar.gz", ".zip", ".tgz")):
        raise TraceError("packed", path=path)
    raise TraceError("unknown_file", path=path)


def _listed(folder: Path, pattern: re.Pattern) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.is_file() and pattern.match(p.name))


def _folder(path: Path) -> Source | None:
    """The rank in a folder; None where the folder is none. Raises TraceError for one that was left unfinished."""
    inside = path / OUTPUT
    output = inside if inside.is_dir() else path
    timeline, kernels = _listed(output, _TIMELINE), _listed(output, _SUMMARY)
    bases = [p for p in _listed(output, _DATABASE) if p.stat().st_size]
    named = re.search(r"_ascend_(pt|ms)$", path.name) is not None
    text = bool(timeline or [k for k in kernels if k.name == "kernel_details.csv"])
    if text or (bases and (inside.is_dir() or path.name == OUTPUT or named or _is_output(path))):
        whole = "torch_npu text" if text else "torch_npu db"
        if path.name == MSPROF_OUTPUT or any(k.name.startswith("op_summary") for k in kernels):
            whole = "msprof"
        return Source(path, whole, timeline, kernels, bases[0] if bases else None, output)
    inner = path / MSPROF_OUTPUT
    if inner.is_dir():
        timeline, kernels = _listed(inner, _TIMELINE), _listed(inner, _SUMMARY)
        if timeline or kernels:
            return Source(path, "msprof", timeline, kernels, None, inner)
    if path.name.startswith("PROF_"):
        older = [q for q in (path / "summary", path / "timeline") if q.is_dir()] + sorted(
            q for d in path.glob("device_*") for q in (d / "summary", d / "timeline") if q.is_dir()
        )
        timeline = [p for q in older for p in _listed(q, re.compile(r"^msprof.*\.json$"))]
        kernels = [p for q in older for p in _listed(q, re.compile(r"^op_summary.*\.csv$"))]
        if timeline or kernels:
            return Source(path, "msprof", timeline, kernels, None, kernels[0].parent if kernels else path)
        if bases := _listed(path, _DATABASE):
            return Source(path, "msprof db", database=bases[0], folder=path)
        raise TraceError("not_exported", path=path)
    if kernels:
        return Source(path, "msprof", [], kernels, None, output)
    if named or inside.is_dir():
        if any(path.glob("PROF_*")) or (path / "FRAMEWORK").is_dir():
            raise TraceError("not_analysed", path=path)
        raise TraceError("nothing_in_tree", path=path)
    return None


def _is_output(path: Path) -> bool:
    return (path / "analysis.db").is_file() or any(path.glob("profiler_info*.json"))


class Progress:
    """A bar over the bytes of the timelines, on a terminal only."""

    def __init__(self, total: int, wanted: bool | None):
        shown = sys.stderr.isatty() if wanted is None else wanted
        self._bar = None
        if shown and total > 32 << 20:  # less is read within a second
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit="B", unit_scale=True, desc="trace", leave=False)

    def __call__(self, count: int) -> None:
        if self._bar is not None:
            self._bar.update(count)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def read_all(path: str | Path, progress: bool | None = None) -> list[model.Trace]:
    """Every rank at `path`. Raises TraceError with the reason where nothing can be said."""
    found = sources(Path(path))
    bar = Progress(sum(s.sizes for s in found), progress)
    try:
        traces = [read_one(source, bar) for source in found]
    finally:
        bar.close()
    apart = len(traces) > 1 and not _one_job(traces)
    for i, trace in enumerate(traces):
        trace.separate = apart
        if apart or trace.rank is None and len(traces) > 1:
            trace.rank = i
    return sorted(traces, key=lambda t: (t.rank is None, t.rank or 0))


def _one_job(traces: list[model.Trace]) -> bool:
    """Are they ranks of one job? Each has another number then; where one has none, they have collectives in common."""
    known = [t.rank for t in traces if t.rank is not None]
    names = [set(t.comm["name"].to_list()) for t in traces]
    return len({*known}) == len(known) and (len(known) == len(traces) or bool(set.intersection(*names)))


def read_one(source: Source, progress: Callable[[int], None] | None = None) -> model.Trace:
    trace = model.Trace(source.home, source.kind)
    _settings(source, trace)
    kernels = None
    refused: list[TraceError] = []
    tables = []
    for path in source.kernels:
        try:
            table, trace.generation = csv_tables.kernels(path)
            tables.append(table)
            trace.files.append(path.name)
        except TraceError as error:
            refused.append(error)
    listed = pl.concat(tables, how="diagonal_relaxed").sort("start_ns") if tables else None
    del tables
    for timeline in source.timeline[:1]:
        try:
            kernels = timeline_file.read(timeline, trace, progress, listed is not None and listed.height > 0)
            trace.files.append(timeline.name)
        except TraceError as error:
            refused.append(error)
    if listed is not None and listed.height:
        kernels = _with_host_times(listed, kernels)
    if kernels is None and source.database is not None:
        try:
            kernels = database.read(source.database, trace)
            trace.files.append(source.database.name)
        except TraceError as error:
            refused.append(error)
    if kernels is None:
        raise refused[0]
    trace.problems += [error.problem for error in refused]
    if source.folder is not None:
        _side_files(source.folder, trace)
    _finish(trace, kernels)
    return trace


def _with_host_times(listed: pl.DataFrame, drawn: pl.DataFrame | None) -> pl.DataFrame:
    """The rows of the CSV, which has shapes and counters, with the host's times of the timeline's rows."""
    if drawn is None or not drawn.height:
        return listed
    host = drawn.select("start_ns", "issued", "op_time", "op_thread", drawn_core="core").unique(
        "start_ns", keep="first"
    )
    # only the moments are joined and the columns set beside the others: a join of the whole table would copy it
    found = listed.select("start_ns").join(host, on="start_ns", how="left", maintain_order="left")
    found = listed.hstack(found.drop("start_ns").get_columns())
    if "core" in listed.columns:
        return found.with_columns(pl.col("core").fill_null(pl.col("drawn_core"))).drop("drawn_core")
    return found.rename({"drawn_core": "core"})


def _finish(trace: model.Trace, kernels: pl.DataFrame) -> None:
    if kernels.height:
        if trace.base_ns == 0:
            trace.base_ns = int(kernels["start_ns"].min())
        kernels = kernels.with_columns(((pl.col("start_ns") - trace.base_ns) / 1000.0).alias("start"))
    pipes = [c for c in kernels.columns if re.match(r"^(aic|aiv|ai)_\w+$", c)]
    trace.kernels = model.fitted(
        kernels.select(set(kernels.columns) & {*model.KERNELS, *pipes}), model.KERNELS, more=True
    )
    unknown = pl.col("core").is_in(["COMMUNICATION", "HCCL"])
    trace.kernels = trace.kernels.with_columns(
        pl.col("type").fill_null(pl.col("name").str.extract(r"^aclnn\w+?_(\w+)$", 1).str.split("_").list.last()),
        pl.when(unknown).then(pl.lit("COMMUNICATION")).otherwise(pl.col("core")).alias("core"),
    )
    if not trace.kernels["start"].is_sorted():  # sorting copies the largest table of all
        trace.kernels = trace.kernels.sort("start", maintain_order=True)
    if not trace.comm.height:
        listed = trace.kernels.filter(model.is_communication())
        trace.comm = model.fitted(listed, model.COMM)
    if trace.steps.height and trace.kernels.height:
        trace.kernels = _in_steps(trace.kernels, trace.steps)
    if not trace.compute().height:
        trace.problems.append(why_no_kernels(trace))


def _in_steps(kernels: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """The step of each kernel, by the moment at which the host issued it. "Step Id" may go by the device's time, at
    which a host that runs ahead is steps further on; it stands where nothing is known of the host. The start on the
    device says nothing for the same reason."""
    times = kernels.select("step", _at=pl.coalesce("op_time", "issued")).with_row_index("_row")
    known = times.filter(pl.col("_at").is_not_null()).rename({"step": "_listed"}).sort("_at")
    marked = steps.select("step", _at="start", _end=pl.col("start") + pl.col("dur")).sort("_at")
    known = known.join_asof(marked, on="_at", strategy="backward")
    # what torch_npu's second thread launches without an operator's flow may come a little behind the step's end
    known = known.with_columns(pl.when(pl.col("_at") <= pl.col("_end")).then("step").otherwise("_listed").alias("step"))
    other = times.filter(pl.col("_at").is_null())
    both = pl.concat([known.select("_row", "step"), other.select("_row", "step")]).sort("_row")
    return kernels.with_columns(both["step"])


def _json(path: Path, problems: list) -> dict:
    try:
        found = json.loads(path.read_text(encoding="utf-8", errors="replace"))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError) as error:
        problems.append(Problem("bad_json", {"path": str(path), "error": str(error)}))
        return {}


def _settings(source: Source, trace: model.Trace) -> None:
    folder = source.folder or source.home.parent
    homes = [source.home if source.home.is_dir() else folder, folder, folder.parent]
    for home in dict.fromkeys(homes):
        for path in sorted(home.glob("profiler_info*.json")):
            trace.settings = trace.settings or _json(path, trace.problems)
            if match := re.match(r"profiler_info_(\d+)\.json$", path.name):
                trace.rank = int(match[1]) if trace.rank is None else trace.rank
        if (path := home / "profiler_metadata.json").is_file():
            trace.metadata = trace.metadata or _json(path, trace.problems)
        for path in sorted(home.glob("PROF_*/device_*/info.json*")) or sorted(home.glob("device_*/info.json*")):
            if path.name.endswith(".done"):
                continue
            for device in _json(path, trace.problems).get("DeviceInfo", [])[:1]:
                trace.cores = {"aic": device.get("ai_core_num"), "aiv": device.get("aiv_num")}
        if trace.settings or trace.metadata:
            break
    rank = trace.settings.get("rank_id")
    if isinstance(rank, int) and rank >= 0:
        trace.rank = rank
    config = trace.settings.get("config", {}).get("experimental_config", {})
    trace.level = str(config.get("_profiler_level", ""))
    trace.simulated = str(trace.metadata.get("simulated", "")).lower() == "true"
    if trace.settings.get("cann_version"):
        trace.generation = f"CANN {trace.settings['cann_version']}"


def _side_files(folder: Path, trace: model.Trace) -> None:
    base, problems = trace.base_ns, trace.problems
    said = trace.settings.get("cann_version")
    if said:
        trace.generation = f"CANN {said}"

    def since(table: pl.DataFrame, *columns: str) -> pl.DataFrame:
        return table.with_columns(
            ((pl.col(f"{c}_ns") - base) / 1000.0).alias(c) for c in columns if f"{c}_ns" in table.columns
        )

    for name, read, schema, times, target in (
        ("memory_record.csv", csv_tables.memory_record, model.MEMORY, ("time",), "memory"),
        ("operator_memory.csv", csv_tables.operator_memory, model.ALLOCATIONS, ("time", "released"), "allocations"),
        ("step_trace_time.csv", csv_tables.step_trace, model.STEP_TIMES, (), "step_times"),
    ):
        path = folder / name
        if path.is_file() and (table := csv_tables.try_table(read, path, problems)) is not None:
            setattr(trace, target, model.fitted(since(table, *times), schema))
            trace.files.append(name)
    if (path := folder / "analysis.db").is_file() and not trace.step_times.height:
        try:
            database.analysis(path, trace)
            trace.files.append(path.name)
        except TraceError as error:
            problems.append(error.problem)
    if (path := folder / "communication.json").is_file():
        trace.comm_times = _communication(_json(path, problems))
        trace.files.append(path.name)
    if (path := folder / "communication_matrix.json").is_file():
        trace.links = _matrix(_json(path, problems))
        trace.files.append(path.name)


def _walk(tree: dict):
    """(step, name of the operator, its entry) of communication.json and communication_matrix.json."""
    for step, kinds in tree.items():
        for operators in (kinds if isinstance(kinds, dict) else {}).values():
            for name, entry in (operators if isinstance(operators, dict) else {}).items():
                if isinstance(entry, dict):
                    yield step, name, entry


def _communication(tree: dict) -> pl.DataFrame:
    rows = []
    for step, name, entry in _walk(tree):
        if name.lower().startswith("total op info"):
            continue
        times = entry.get("Communication Time Info", {})
        operator, _, group = name.partition("@")
        rows.append(
            {
                "step": step,
                "name": operator,
                "group": group,
                "elapsed": 1000.0 * float(times.get("Elapse Time(ms)", times.get("Elapsed Time(ms)", 0)) or 0),
                "transit": 1000.0 * float(times.get("Transit Time(ms)", 0) or 0),
                "waiting": 1000.0 * float(times.get("Wait Time(ms)", 0) or 0),
                "synchronising": 1000.0 * float(times.get("Synchronization Time(ms)", 0) or 0),
                "idle": 1000.0 * float(times.get("Idle Time(ms)", 0) or 0),
            }
        )
    return pl.DataFrame(rows, schema=model.COMM_TIMES)


def _matrix(tree: dict) -> pl.DataFrame:
    rows = []
    for step, name, entry in _walk(tree):
        for pair, link in entry.items():
            ends = re.match(r"^(\d+)-(\d+)$", pair)
            if ends and isinstance(link, dict):
                rows.append(
                    {
                        "step": step,
                        "name": name.partition("@")[0],
                        "source": int(ends[1]),
                        "target": int(ends[2]),
                        "transport": str(link.get("Transport Type", "")),
                        "mb": float(link.get("Transit Size(MB)", 0) or 0),
                        "ms": float(link.get("Transit Time(ms)", 0) or 0),
                        "bandwidth": float(link.get("Bandwidth(GB/s)", 0) or 0),
                    }
                )
    return pl.DataFrame(rows, schema=model.LINKS)
