"""ascend_pytorch_profiler[_rank].db and analysis.db: the same recording as SQLite tables, schema 1.0.0.

All times are whole nanoseconds; every text is an id into STRING_IDS. Tables of what is not modelled (HBM and LLC
counters, frequencies over time, AI CPU, RDMA) are left out or empty, as on a node that did not record them.
"""

from __future__ import annotations

import json
import socket
import sqlite3
from pathlib import Path

from labkit import chips
from labkit.profiler import communication, host_tables, kernel_names, overlap, tables, trace_view
from labkit.profiler.layout import EVENTS, Layout, group_number, us

_NO_ID = 4294967295
_API_TYPES = {5000: "runtime", 5500: "hccl", 10000: "node", 15000: "model", 20000: "acl", 50001: "op", 50002: "queue",
              50003: "trace", 50004: "mstx"}  # fmt: skip
_HCCL_TYPES = dict(enumerate("INT8 INT16 INT32 FP16 FP32 INT64 UINT64 UINT8 UINT16 UINT32 FP64 BFP16 INT128".split()))
_HCCL_TYPES |= {65534: "N/A", 65535: "INVALID_TYPE"}

_SCHEMA = """
CREATE TABLE NPU_INFO (id INTEGER, name TEXT);
CREATE TABLE SESSION_TIME_INFO (startTimeNs INTEGER, endTimeNs INTEGER);
CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);
CREATE TABLE META_DATA (name TEXT, value TEXT);
CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,
  globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER,
  depth INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER, mixBlockDim INTEGER,
  taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER,
  outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER, attrInfo INTEGER, waitNs INTEGER);
CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER, name INTEGER, value NUMERIC);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER,
  groupName INTEGER, opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER,
  count NUMERIC, opType INTEGER, waitNs INTEGER, deviceId INTEGER);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER,
  connectionId INTEGER PRIMARY KEY, name INTEGER, depth INTEGER);
CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER,
  sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER,
  type INTEGER, depth INTEGER);
CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER);
CREATE TABLE PYTORCH_CALLCHAINS (id INTEGER, stack INTEGER, stackDepth INTEGER);
CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);
CREATE TABLE OVERLAP_ANALYSIS (id INTEGER PRIMARY KEY AUTOINCREMENT, deviceId INTEGER, startNs INTEGER, endNs INTEGER,
  type INTEGER);
CREATE TABLE MEMORY_RECORD (component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER,
  totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER);
CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER,
  activeReleaseTime INTEGER, duration INTEGER, activeDuration INTEGER, allocationTotalAllocated INTEGER,
  allocationTotalReserved INTEGER, allocationTotalActive INTEGER, releaseTotalAllocated INTEGER,
  releaseTotalReserved INTEGER, releaseTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER);
"""
_ANALYSIS = """
CREATE TABLE StepTraceTime (deviceId INTEGER, step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC,
  overlapped NUMERIC, communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC,
  communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC);
CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC,
  transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, step TEXT, type TEXT);
CREATE TABLE CommAnalyzerBandwidth (hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC,
  transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC,
  total_duration NUMERIC, step TEXT, type TEXT);
CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT,
  transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT,
  op_name TEXT);
"""


class _Database:
    def __init__(self, path: Path, schema: str):
        path.unlink(missing_ok=True)
        self.connection = sqlite3.connect(path)
        self.connection.executescript(schema)
        self.strings: dict[str, int] = {}

    def text(self, value: str) -> int:
        return self.strings.setdefault(value, len(self.strings))

    def fill(self, table: str, rows: list) -> None:
        if rows:
            marks = ",".join("?" * len(rows[0]))
            self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def close(self) -> None:
        if self.strings:
            self.fill("STRING_IDS", [(i, value) for value, i in self.strings.items()])
        self.connection.commit()
        self.connection.close()


def write(layout: Layout, out: Path) -> None:
    """Both files into the folder `out`."""
    suffix = "" if layout.rank is None else f"_{layout.rank}"
    db = _Database(out / f"ascend_pytorch_profiler{suffix}.db", _SCHEMA)
    _facts(db, layout)
    if layout.settings.tasks:
        _tasks(db, layout)
        _steps(db, layout)
    if layout.settings.cpu:
        _host(db, layout)
    if layout.settings.profile_memory:
        _memory(db, layout)
    db.close()
    if layout.settings.tasks:
        _analysis(layout, out / "analysis.db")


def _facts(db: _Database, layout: Layout) -> None:
    db.fill("ENUM_API_TYPE", sorted(_API_TYPES.items()))
    db.fill("ENUM_HCCL_DATA_TYPE", sorted(_HCCL_TYPES.items()))
    name = chips.load(layout.session.chip)["chip"]["name"]
    db.fill("NPU_INFO", [(device, name) for device in layout.devices])
    db.fill("SESSION_TIME_INFO", [(layout.begin, layout.end)])
    db.fill("HOST_INFO", [("0", socket.gethostname())])
    db.fill("RANK_DEVICE_MAP", [(-1 if layout.rank is None else layout.rank, device) for device in layout.devices])
    version = [("SCHEMA_VERSION_MAJOR", "1"), ("SCHEMA_VERSION_MINOR", "0"), ("SCHEMA_VERSION_MICRO", "0"),
               ("SCHEMA_VERSION", "1.0.0"), ("simulated", "true"), ("ENV_VARIABLES", json.dumps({}))]  # fmt: skip
    db.fill("META_DATA", version)


def _global(layout: Layout, tid: int) -> int:
    return (layout.pid << 32) | tid


def _tasks(db: _Database, layout: Layout) -> None:
    detailed = layout.settings.detailed
    columns = tables.counter_columns(layout.settings.aic_metrics)
    api, work_rows, compute, counters, collectives = [], [], [], [], []
    for w in layout.works:
        kind = kernel_names.TASK_TYPES.get(w.core, w.type) if w.computes else w.type
        if w.communicates:
            facts = w.task.inputs[0] if w.task.inputs else None
            dtype = kernel_names.dtype(facts.dtype, hccl=True) if facts else "N/A"
            number = next((i for i, name in _HCCL_TYPES.items() if name == dtype), 65534)
            count = sum(trace_view.elements(t) for t in w.task.inputs)
            collectives.append((db.text(w.name), w.begin, w.end, w.connection, db.text(str(group_number(w.task.group))),
                                w.index, 0, 0, number, db.text("MESH"), count, db.text(w.op_type), w.wait,
                                w.device))  # fmt: skip
        else:
            work_rows.append((w.begin, w.end, w.device, w.connection, w.index, layout.pid, db.text(kind), _NO_ID,
                              w.stream, w.task_id, _NO_ID, 0))  # fmt: skip
        if w.computes:
            t = w.task
            tensors = [db.text(f(x) if detailed else "N/A") for x in (t.inputs, t.outputs)
                       for f in (kernel_names.formats, kernel_names.dtypes, kernel_names.shapes)]  # fmt: skip
            op_type, core = (w.op_type, w.core) if detailed else ("N/A", "N/A")
            compute.append((db.text(w.name), w.index, t.blocks, 0, db.text(core), db.text(op_type), *tensors,
                            db.text(""), w.wait))  # fmt: skip
            values = zip(columns, tables.counter_values(w, columns))
            counters += [(w.index, db.text(name.partition("(")[0]), value) for name, value in values if value != "N/A"]
        if detailed and w.task.kind not in EVENTS:
            what = "launch" if w.computes else w.call
            api.append((w.issue_begin, w.issue_end, 10000 if w.computes else 20000,
                        _global(layout, layout.issuing_tid(w)), w.connection, db.text(what), 0))  # fmt: skip
    number = len(layout.works) + 1
    if detailed:
        for call, begin, end in layout.calls:
            if call.task < 0:
                api.append((begin, end, 20000, _global(layout, layout.tid(call.thread)), number, db.text(call.name), 0))
                number += 1
    for table, rows in (("TASK", work_rows), ("COMPUTE_TASK_INFO", compute), ("TASK_PMU_INFO", counters),
                        ("COMMUNICATION_OP", collectives), ("CANN_API", api)):  # fmt: skip
        db.fill(table, rows)


def _steps(db: _Database, layout: Layout) -> None:
    for device in layout.devices:
        if device == layout.devices[0]:
            db.fill("STEP_TIME", [(s.number, s.begin, s.end) for s in layout.steps[device]])
        for kind, intervals in enumerate(overlap.shares(layout, device)):
            rows = [(None, device, begin, end, kind) for begin, end in intervals]
            db.fill("OVERLAP_ANALYSIS", rows)


def _host(db: _Database, layout: Layout) -> None:
    chains: dict[tuple, int] = {}
    connections, rows = [], []
    for span in layout.spans:
        r = span.range
        args = trace_view.host_arguments(span, layout)
        own = None
        if span.works and layout.settings.tasks:
            own = span.index
            connections += [(own, layout.works[k].connection) for k in span.works]
        stack = r.stack if layout.settings.with_stack else ()
        chain = chains.setdefault(stack, len(chains)) if stack else None
        texts = [db.text(args[key]) if args.get(key) else None for key in ("Input type", "Input Dims")]
        depth = 0
        at = r.parent
        while 0 <= at < len(layout.spans):
            depth, at = depth + 1, layout.spans[at].range.parent
        rows.append((str(span.begin), str(span.end), _global(layout, span.tid), own, db.text(span.name),
                     layout.sequence(span), r.forward_thread, *texts, chain, 50001, depth))  # fmt: skip
    db.fill("PYTORCH_API", rows)
    db.fill("CONNECTION_IDS", connections)
    frames = [(i, db.text(f), k) for stack, i in chains.items() for k, f in enumerate(stack)]
    db.fill("PYTORCH_CALLCHAINS", frames)


def _memory(db: _Database, layout: Layout) -> None:
    pointer = host_tables.stream_pointer
    records = [(db.text(component), at, allocated, reserved, allocated, pointer(device, stream), device)
               for at, device, stream, allocated, reserved in host_tables.memory_events(layout)
               for component in ("PTA", "PTA+GE")]  # fmt: skip
    db.fill("MEMORY_RECORD", records)
    rows = []
    for a in layout.session.allocations:
        begin = host_tables.calendar_ns(a.time)
        end = None if a.freed is None else host_tables.calendar_ns(a.freed)
        lived = None if end is None else end - begin
        then = (None, None) if end is None else (a.allocated_then, a.reserved_then)
        rows.append((db.text(host_tables.owner(layout, a)), a.bytes, begin, end, end, lived, lived, a.allocated,
                     a.reserved, a.allocated, *then, then[0], host_tables.stream_pointer(a.device, a.stream),
                     a.device))  # fmt: skip
    db.fill("OP_MEMORY", rows)


def _analysis(layout: Layout, path: Path) -> None:
    db = _Database(path, _ANALYSIS)
    for device in layout.devices:
        rows = [(device, None if s.number is None else str(s.number), us(s.computing), us(s.alone),
                 us(s.communication - s.alone), us(s.communication), us(s.free), us(s.stage), us(s.bubble),
                 us(max(0, s.alone - s.bubble)), us(s.preparing))
                for s in overlap.step_times(layout, device)]  # fmt: skip
        db.fill("StepTraceTime", rows)
    for step, kinds in communication.communication(layout).items():
        for kind, operators in kinds.items():
            for full, facts in operators.items():
                name, _, group = full.partition("@")
                times, links = facts["Communication Time Info"], facts["Communication Bandwidth Info"]
                db.fill("CommAnalyzerTime", [(name, group, *list(times.values())[:6], step, kind)])
                rows = [(name, group, link, *list(f.values())[:4], float(size), count, ms, step, kind)
                        for link, f in links.items()
                        for size, (count, ms) in f["Size Distribution"].items()]  # fmt: skip
                db.fill("CommAnalyzerBandwidth", rows)
    for step, kinds in communication.matrix(layout).items():
        for kind, operators in kinds.items():
            for full, links in operators.items():
                name, _, group = full.partition("@")
                rows = [(name, group, *pair.split("-"), *list(f.values())[:4], step, kind, f["Op Name"])
                        for pair, f in links.items()]  # fmt: skip
                db.fill("CommAnalyzerMatrix", rows)
    db.close()
