"""The tables of labkit/trace/timeline_file.py, built by DuckDB: the other side of the trial in trace_engines.py.

Only for that trial, and only for what its made file has: one list of events with times in quotes. What this way cannot
read at all is said in labkit/trace/json_stream.py.
"""

# ruff: noqa: E501  (queries)
from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from labkit.trace import model, timeline_file

COLUMNS = """{ph:'VARCHAR', name:'VARCHAR', pid:'BIGINT', tid:'BIGINT', ts:'DECIMAL(22,3)', dur:'DOUBLE', cat:'VARCHAR',
  id:'VARCHAR', args:'STRUCT("name" VARCHAR, "Task Type" VARCHAR, "Physic Stream Id" BIGINT, "Task Id" BIGINT,
  "Input Dims" VARCHAR, "Input type" VARCHAR, "Call stack" VARCHAR, "data_type" VARCHAR, "src rank" BIGINT,
  "dst rank" BIGINT, "size(Byte)" DOUBLE, "size(B)" DOUBLE, "transport type" VARCHAR, "bandwidth(GB/s)" DOUBLE)'}"""


class _Base:
    def __init__(self, path: Path, spill: Path):
        import duckdb

        self.base = duckdb.connect(config={"threads": 2, "memory_limit": "200MB", "temp_directory": str(spill)})
        run = self.base.execute
        run("set preserve_insertion_order = false")
        run("attach ':memory:' as m (compress)")
        run("use m")
        run(
            f"""create table e as select ph, name, pid, tid, cast(ts * 1000 as bigint) as ns, dur, cat, id,
            args."name" as label, args."Task Type" as kind, args."Physic Stream Id" as stream, args."Task Id" as task,
            args."Input Dims" as dims, coalesce(args."data_type", args."Input type") as types, args."Call stack" as stack,
            args."src rank" as source, args."dst rank" as target, coalesce(args."size(Byte)", args."size(B)") as bytes,
            args."transport type" as link, args."bandwidth(GB/s)" as bandwidth
            from read_json('{path}', format='array', maximum_object_size=16777216, columns={COLUMNS})
            where ph = 'M' or ((ph = 's' or ph = 'f') and cat in ('async_npu', 'HostToDevice', 'ac2g'))
            or (ph = 'X' and (cat is null or cat not in ('python_function', 'enqueue', 'dequeue')
                or starts_with(name, 'nn.Module: ')))"""
        )
        run("create type stacks as enum (select distinct stack from e where stack is not null)")
        self.processes = dict(run("select pid, label from e where ph='M' and name='process_name'").fetchall())
        self.first = run("select min(ns) from e where ph='X'").fetchall()[0][0]

    def of(self, kind: str) -> str:
        """SQL: the rows of processes of this kind."""
        pids = [str(p) for p, name in self.processes.items() if timeline_file._kind_of(name) == kind]
        also = " or cat in ('cpu_op', 'python_function', 'user_annotation')" if kind == "host" else ""
        return f"ph = 'X' and (pid in ({', '.join(pids) or 'null'}){also})"

    def take(self, columns: str, where: str) -> pl.DataFrame:
        return pl.DataFrame(
            self.base.sql(
                f"select {columns}, ns as start_ns, (ns - {self.first}) / 1000.0::double as start, coalesce(dur, 0.0) as dur"
                f" from e where {where}"
            )
        )

    def flows(self, cats: str) -> timeline_file.Flow:
        found = self.base.execute(
            f"""select f.ns as moment, (s.ns - {self.first}) / 1000.0::double as host, s.tid as thread
            from e f join e s on f.id = s.id and f.ph = 'f' and s.ph = 's' and f.cat in {cats} and s.cat in {cats}
            order by f.ns"""
        ).fetchnumpy()
        return timeline_file.Flow(*(np.asarray(found[n]) for n in ("moment", "host", "thread")))


def read(path: Path, trace: model.Trace, progress=None, listed: bool = False) -> pl.DataFrame:
    """As timeline_file.read."""
    base = _Base(path, path.parent / "spill")
    trace.base_ns = trace.base_ns or base.first
    names = {name.lower() for name in base.processes.values()}
    if not trace.generation:
        trace.generation = "CANN 9" if "communication" in names else "CANN 6 to 8" if "hccl" in names else ""
    host = base.take(
        """name, case when starts_with(name, 'ProfilerStep') then 'step' when starts_with(name, 'nn.Module: ')
        then 'module' else 'op' end as kind, tid as thread, dims as shapes, types, stack::stacks as stack""",
        base.of("host"),
    ).drop("start_ns")
    trace.host = model.fitted(host.sort("start", maintain_order=True), model.HOST)
    steps = host.filter(pl.col("kind") == "step").with_columns(
        pl.col("name").str.extract(timeline_file._STEP.pattern, 1).cast(pl.Int64, strict=False).alias("step")
    )
    trace.steps = model.fitted(steps.unique("step", keep="first"), model.STEPS).sort("start")
    del host, steps
    calls = base.take(
        """case when contains(name, '@') then name[strpos(name, '@') + 1:] else name end as name,
        split_part(name, '@', 1) as level, tid as thread""",
        base.of("calls"),
    )
    trace.calls = model.fitted(calls.sort("start"), model.CALLS)
    del calls
    trace.overlap = model.fitted(base.take("name as kind", base.of("overlap")), model.OVERLAP)
    torch, runtime = base.flows("('async_npu', 'ac2g')"), base.flows("('HostToDevice')")
    comm = base.take('name, tid::varchar as "group", types', base.of("comm"))
    trace.comm = model.fitted(timeline_file._linked(comm, torch, runtime), model.COMM).sort("start")
    kernel = f"(coalesce(regexp_matches(kind, '{timeline_file._KERNEL}'), false))"
    others = base.take(
        """name, bytes, stream, case when kind ilike '%memcpy%' or kind in ('SDMA_SQE') then 'copy'
        when kind ilike '%event%' or kind ilike '%notify%' then 'event' else 'other' end as kind""",
        f"{base.of('device')} and not {kernel}",
    )
    trace.tasks = model.fitted(timeline_file._linked(others, torch, runtime), model.TASKS).sort("start")
    more = "" if listed else ", name, tid, stream, task, dims as in_shapes"
    kernels = base.take(f"kind as core{more}", f"{base.of('device')} and {kernel}")
    base.base.close()
    return timeline_file._linked(kernels.with_columns(pl.col("core").replace(timeline_file._CORE)), torch, runtime)
