"""ascend_pytorch_profiler*.db, msprof_*.db and analysis.db: the same tables out of SQLite. Times there are ns."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import polars as pl

from labkit.trace import csv_tables, model
from labkit.trace.refusals import TraceError


def _open(path: Path) -> sqlite3.Connection:
    base = sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=ro", uri=True)
    base.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return base


class _Base:
    """A database with its strings; a table that is absent has no rows."""

    def __init__(self, base: sqlite3.Connection):
        self.base = base
        self.tables = {
            name.upper(): name for (name,) in base.execute("select name from sqlite_master where type='table'")
        }
        self.texts: dict = dict(self.rows("STRING_IDS", "id", "value"))

    def columns(self, table: str) -> set[str]:
        if table.upper() not in self.tables:
            return set()
        return {row[1].lower() for row in self.base.execute(f'pragma table_info("{self.tables[table.upper()]}")')}

    def rows(self, table: str, *columns: str):
        """The columns of a table; null for one that it lacks."""
        there = self.columns(table)
        if not there:
            return []
        wanted = ", ".join(f'"{c}"' if c.lower() in there else "null" for c in columns)
        return self.base.execute(f'select {wanted} from "{self.tables[table.upper()]}"')

    def frame(self, table: str, schema: dict[str, tuple[str, object]]) -> pl.DataFrame:
        """`schema`: our name -> (column, kind); the kind "text" is an id of STRING_IDS."""
        rows = self.rows(table, *(column for column, _ in schema.values()))
        kinds = {name: pl.Int64 if kind == "text" else kind for name, (_, kind) in schema.items()}
        takes = [str if kind == pl.String else _number for kind in kinds.values()]
        found = pl.DataFrame(
            [[None if v is None else take(v) for take, v in zip(takes, row)] for row in rows],
            schema=kinds,
            orient="row",
            strict=False,
        )
        texts = {name for name, (_, kind) in schema.items() if kind == "text"}
        keys = pl.Series(list(self.texts), dtype=pl.Int64)
        values = pl.Series(list(self.texts.values()), dtype=pl.String)
        return found.with_columns(
            (
                pl.col(name).replace_strict(keys, values, default=None, return_dtype=pl.String)
                if len(keys)
                else pl.lit(None, dtype=pl.String)
            ).alias(name)
            for name in texts
        )


def _number(value):
    if isinstance(value, str):  # PYTORCH_API keeps its times as text
        try:
            return int(value)
        except ValueError:
            return value
    return value


def read(path: Path, trace: model.Trace) -> pl.DataFrame:
    """Fills `trace` and returns its kernels with start_ns. Raises TraceError for a file that is no such database."""
    try:
        with closing(_open(path)) as raw:
            base = _Base(raw)
            if "TASK" not in base.tables and "PYTORCH_API" not in base.tables:
                raise TraceError("not_database", path=path, tables=", ".join(sorted(base.tables)[:6]) or "-")
            return _fill(base, trace)
    except sqlite3.DatabaseError as error:
        raise TraceError("bad_database", path=path, error=error) from None


def _fill(base: _Base, trace: model.Trace) -> pl.DataFrame:
    whole = pl.Int64
    task = base.frame(
        "TASK",
        {
            "start_ns": ("startNs", whole),
            "end_ns": ("endNs", whole),
            "device": ("deviceId", whole),
            "connection": ("connectionId", whole),
            "id": ("globalTaskId", whole),
            "core": ("taskType", "text"),
            "stream": ("streamId", whole),
            "task": ("taskId", whole),
        },
    )
    host = base.frame(
        "PYTORCH_API",
        {
            "start_ns": ("startNs", whole),
            "end_ns": ("endNs", whole),
            "thread": ("globalTid", whole),
            "connection": ("connectionId", whole),
            "name": ("name", "text"),
            "shapes": ("inputShapes", "text"),
            "types": ("inputDtypes", "text"),
            "chain": ("callchainId", whole),
            "sort": ("type", whole),
        },
    )
    calls = base.frame(
        "CANN_API",
        {
            "start_ns": ("startNs", whole),
            "end_ns": ("endNs", whole),
            "thread": ("globalTid", whole),
            "connection": ("connectionId", whole),
            "name": ("name", "text"),
            "type": ("type", whole),
        },
    )
    firsts = [t["start_ns"].min() for t in (task, host, calls) if t.height]
    if trace.base_ns == 0 and firsts:
        trace.base_ns = min((f for f in firsts if f is not None), default=0)

    def timed(table: pl.DataFrame) -> pl.DataFrame:
        return table.with_columns(
            start=(pl.col("start_ns") - trace.base_ns) / 1000.0, dur=(pl.col("end_ns") - pl.col("start_ns")) / 1000.0
        )

    trace.calls = model.fitted(timed(calls), model.CALLS).sort("start")
    stacks = _stacks(base)
    host = timed(host).with_columns(
        pl.col("chain").replace_strict(stacks, default=None, return_dtype=pl.String).alias("stack")
        if stacks
        else pl.lit(None, dtype=pl.String).alias("stack"),
        pl.when(pl.col("name").str.starts_with("ProfilerStep"))
        .then(pl.lit("step"))
        .when(pl.col("name").str.starts_with("nn.Module: "))
        .then(pl.lit("module"))
        .otherwise(pl.lit("op"))
        .alias("kind"),
    )
    frames = {i for i, name in base.rows("ENUM_API_TYPE", "id", "name") if name in ("trace", "python_trace")} | {50003}
    host = host.filter(~pl.col("name").fill_null("").str.contains("^(Enq|Deq)ueue"))
    host = host.filter(~pl.col("sort").is_in(list(frames)).fill_null(False) | (pl.col("kind") == "module"))
    steps = base.frame("STEP_TIME", {"step": ("id", whole), "start_ns": ("startNs", whole), "end_ns": ("endNs", whole)})
    # the host's own marks where they are there: STEP_TIME may go by the device
    marks = host.filter(pl.col("kind") == "step").with_columns(
        pl.col("name").str.extract(r"#\s*(\d+)$", 1).cast(whole, strict=False).alias("step")
    )
    trace.steps = model.fitted(marks if marks.height else timed(steps), model.STEPS).unique("step").sort("start")
    trace.host = model.fitted(host, model.HOST).sort("start", maintain_order=True)

    # a connection is one number for a call of CANN, and through CONNECTION_IDS several for an operator of PyTorch
    issued = calls.filter(pl.col("connection").is_not_null()).unique("connection", keep="last")
    issued = issued.select("connection", issued_ns="start_ns")
    ids = base.frame("CONNECTION_IDS", {"id": ("id", whole), "connection_id": ("connectionId", whole)})
    owners = (
        host.filter(pl.col("connection").is_not_null())
        .join(ids, left_on="connection", right_on="id", how="inner")
        .unique("connection_id", keep="first")
        .select(pl.col("connection_id").alias("connection"), op_time="start", op_thread="thread")
    )
    task = timed(task).join(issued, on="connection", how="left").join(owners, on="connection", how="left")
    task = task.with_columns(((pl.col("issued_ns") - trace.base_ns) / 1000.0).alias("issued"))
    task = task.with_columns(pl.col("issued").fill_null(pl.col("op_time")))

    info = base.frame(
        "COMPUTE_TASK_INFO",
        {
            "id": ("globalTaskId", whole),
            "name": ("name", "text"),
            "type": ("opType", "text"),
            "blocks": ("blockDim", whole),
            "mix_blocks": ("mixBlockDim", whole),
            "kind": ("taskType", "text"),
            "in_shapes": ("inputShapes", "text"),
            "in_types": ("inputDataTypes", "text"),
            "in_formats": ("inputFormats", "text"),
            "out_shapes": ("outputShapes", "text"),
            "out_types": ("outputDataTypes", "text"),
            "out_formats": ("outputFormats", "text"),
            "wait": ("waitNs", pl.Float64),
        },
    )
    newer = base.columns("COMPUTE_TASK_INFO")
    if "blockdim" not in newer and "blocknum" in newer:
        numbers = base.frame(
            "COMPUTE_TASK_INFO", {"id": ("globalTaskId", whole), "b": ("blockNum", whole), "m": ("mixBlockNum", whole)}
        )
        info = info.drop("blocks", "mix_blocks").join(
            numbers.rename({"b": "blocks", "m": "mix_blocks"}), on="id", how="left"
        )
    info = info.with_columns((pl.col("wait") / 1000.0).alias("wait"))
    kernels = task.join(info, on="id", how="inner").with_columns(pl.col("kind").fill_null(pl.col("core")).alias("core"))
    if (pmu := _counters(base)) is not None:
        kernels = kernels.join(pmu, on="id", how="left")
    moves = base.frame(
        "COMMUNICATION_TASK_INFO",
        {
            "id": ("globalTaskId", whole),
            "name": ("taskType", "text"),
            "source": ("srcRank", whole),
            "target": ("dstRank", whole),
            "bytes": ("size", pl.Float64),
            "link": ("linkType", whole),
        },
    )
    moved = task.join(moves, on="id", how="inner")
    names = {i: name for i, name in base.rows("ENUM_HCCL_LINK_TYPE", "id", "name")}
    if moved.height:
        moved = moved.with_columns(pl.Series("link", [names.get(v, "") for v in moved["link"]], dtype=pl.String))
        moved = moved.with_columns((pl.col("bytes") / 1000.0 / pl.col("dur")).alias("bandwidth"))
    trace.comm_tasks = model.fitted(moved, model.COMM_TASKS)
    others = task.join(info.select("id"), on="id", how="anti").join(moves.select("id"), on="id", how="anti")
    sizes = base.frame("MEMCPY_INFO", {"id": ("globalTaskId", whole), "bytes": ("size", pl.Float64)})
    others = others.join(sizes, on="id", how="left") if sizes.height else others
    core = pl.col("core").fill_null("")
    others = others.with_columns(
        pl.when(core.str.contains("(?i)memcpy|PCIE_DMA|^SDMA"))
        .then(pl.lit("copy"))
        .when(core.str.contains("(?i)event|notify"))
        .then(pl.lit("event"))
        .otherwise(pl.lit("other"))
        .alias("kind"),
        core.alias("name"),
    )
    trace.tasks = model.fitted(others, model.TASKS).sort("start")

    comm = base.frame(
        "COMMUNICATION_OP",
        {
            "name": ("opName", "text"),
            "start_ns": ("startNs", whole),
            "end_ns": ("endNs", whole),
            "connection": ("connectionId", whole),
            "group": ("groupName", "text"),
            "count": ("count", pl.Float64),
        },
    )
    comm = timed(comm).join(issued, on="connection", how="left")
    comm = comm.with_columns(((pl.col("issued_ns") - trace.base_ns) / 1000.0).alias("issued"))
    trace.comm = model.fitted(comm, model.COMM).sort("start")
    kinds = {0: "Computing", 1: "Communication", 2: "Communication(Not Overlapped)", 3: "Free"}
    overlap = timed(
        base.frame(
            "OVERLAP_ANALYSIS", {"sort": ("type", whole), "start_ns": ("startNs", whole), "end_ns": ("endNs", whole)}
        )
    )
    if overlap.height:
        overlap = overlap.with_columns(pl.Series("kind", [kinds.get(v, "") for v in overlap["sort"]]))
        trace.overlap = model.fitted(overlap, model.OVERLAP)
    _memory(base, trace)
    for rank, _ in base.rows("RANK_DEVICE_MAP", "rankId", "deviceId"):
        trace.rank = rank if trace.rank is None and rank is not None and rank >= 0 else trace.rank
    versions = dict(base.rows("META_DATA", "name", "value"))
    major = versions.get("SCHEMA_VERSION_MAJOR")
    trace.generation = f"database schema {versions.get('SCHEMA_VERSION', major or '?')}"
    return kernels


def _stacks(base: _Base) -> dict[int, str]:
    found: dict[int, list[tuple[int, str]]] = {}
    for chain, stack, depth in base.rows("PYTORCH_CALLCHAINS", "id", "stack", "stackDepth"):
        found.setdefault(chain, []).append((depth or 0, base.texts.get(stack) or ""))
    return {chain: ";\n".join(text for _, text in sorted(frames)) for chain, frames in found.items()}


def _counters(base: _Base) -> pl.DataFrame | None:
    """TASK_PMU_INFO's rows as columns with the names of the CSVs."""
    pmu = base.frame(
        "TASK_PMU_INFO", {"id": ("globalTaskId", pl.Int64), "name": ("name", "text"), "value": ("value", pl.Float64)}
    )
    named = {}
    for name in pmu["name"].unique().to_list():
        if name and (match := csv_tables.PIPE.match(csv_tables.plain(name))):
            unit, pipe = match.groups()
            named[name] = f"{unit or 'ai'}_{'mac' if pipe == 'cube' else pipe}"
    pmu = pmu.filter(pl.col("name").is_in(list(named)))
    if not pmu.height:
        return None
    pmu = pmu.with_columns(pl.col("name").replace(named), pl.col("value").cast(pl.Float32))
    return pmu.pivot(on="name", index="id", values="value", aggregate_function="first")


def _memory(base: _Base, trace: model.Trace) -> None:
    whole, mb = pl.Int64, 1 / 2**20
    record = base.frame(
        "MEMORY_RECORD",
        {
            "component": ("component", "text"),
            "time_ns": ("timestamp", whole),
            "allocated": ("totalAllocated", pl.Float64),
            "reserved": ("totalReserved", pl.Float64),
            "active": ("totalActive", pl.Float64),
        },
    )
    if record.height:
        record = record.with_columns(
            ((pl.col("time_ns") - trace.base_ns) / 1000.0).alias("time"),
            *((pl.col(c) * mb).alias(c) for c in ("allocated", "reserved", "active")),
        )
        trace.memory = model.fitted(record, model.MEMORY)
    blocks = base.frame(
        "OP_MEMORY",
        {
            "name": ("name", "text"),
            "kb": ("size", pl.Float64),
            "time_ns": ("allocationTime", whole),
            "released_ns": ("releaseTime", whole),
            "allocated": ("allocationTotalAllocated", pl.Float64),
            "reserved": ("allocationTotalReserved", pl.Float64),
            "active": ("allocationTotalActive", pl.Float64),
        },
    )
    if blocks.height:
        blocks = blocks.with_columns(
            ((pl.col("time_ns") - trace.base_ns) / 1000.0).alias("time"),
            ((pl.col("released_ns") - trace.base_ns) / 1000.0).alias("released"),
            (pl.col("kb") / 1024).alias("kb"),
            *((pl.col(c) * mb).alias(c) for c in ("allocated", "reserved", "active")),
        )
        trace.allocations = model.fitted(blocks, model.ALLOCATIONS)


def analysis(path: Path, trace: model.Trace) -> None:
    """analysis.db: StepTraceTime and what communication.json and communication_matrix.json hold in text output."""
    try:
        with closing(_open(path)) as raw:
            base = _Base(raw)
            real = pl.Float64
            steps = base.frame(
                "StepTraceTime",
                {
                    "step": ("step", pl.String),
                    "computing": ("computing", real),
                    "exposed": ("communication_not_overlapped", real),
                    "overlapped": ("overlapped", real),
                    "communication": ("communication", real),
                    "free": ("free", real),
                    "stage": ("stage", real),
                    "bubble": ("bubble", real),
                    "preparing": ("preparing", real),
                },
            )
            times = base.frame(
                "CommAnalyzerTime",
                {
                    "step": ("step", pl.String),
                    "name": ("hccl_op_name", pl.String),
                    "group": ("group_name", pl.String),
                    "elapsed": ("elapse_time", real),
                    "transit": ("transit_time", real),
                    "waiting": ("wait_time", real),
                    "synchronising": ("synchronization_time", real),
                    "idle": ("idle_time", real),
                },
            )
            links = base.frame(
                "CommAnalyzerMatrix",
                {
                    "step": ("step", pl.String),
                    "name": ("hccl_op_name", pl.String),
                    "source": ("src_rank", pl.Int64),
                    "target": ("dst_rank", pl.Int64),
                    "transport": ("transport_type", pl.String),
                    "mb": ("transit_size", real),
                    "ms": ("transit_time", real),
                    "bandwidth": ("bandwidth", real),
                },
            )
    except sqlite3.DatabaseError as error:
        raise TraceError("bad_database", path=path, error=error) from None
    trace.step_times = model.fitted(steps, model.STEP_TIMES)
    in_ms = ("elapsed", "transit", "waiting", "synchronising", "idle")
    trace.comm_times = model.fitted(times.with_columns((pl.col(c) * 1000.0).alias(c) for c in in_ms), model.COMM_TIMES)
    links = links.filter(~pl.col("name").fill_null("").str.contains("^(?i)total"))
    trace.links = model.fitted(links, model.LINKS)
