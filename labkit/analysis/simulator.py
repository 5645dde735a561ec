"""The timeline as `msprof op simulator` writes it: trace.json of all cores, and a folder for each core.

The files are for Perfetto, chrome://tracing and MindStudio Insight. Perfetto drops an event that overlaps another on
its thread (its statistic slice_drop_overlapping_complete_event), and transfers of one pipe do overlap: those go to
further threads of the pipe. Times in us since the first core began; modelled, and said so under "otherData".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labkit.launch.record import LaunchRecord

# lane, order, pid of a core's own file, colour
LANES = {
    "S": ("SCALAR", 1, 10, "startup"),
    "V": ("VECTOR", 7, 30, "cq_build_failed"),
    "M": ("CUBE", 4, 40, "background_memory_dump"),
    "MTE1": ("MTE1", 3, 50, "thread_state_running"),
    "MTE2": ("MTE2", 6, 60, "thread_state_iowait"),
    "MTE3": ("MTE3", 8, 70, "rail_response"),
    "FIX": ("FIXP", 5, 80, "thread_state_unknown"),
}


@dataclass
class CoreRows:
    """One core's instructions."""

    block: int
    core: int
    rows: np.ndarray

    @property
    def name(self) -> str:
        return f"core{self.block}.{'cubecore0' if self.core == 2 else f'veccore{self.core}'}"

    @property
    def order(self) -> int:
        return self.block * 3 + (1 if self.core == 2 else 2 + self.core)


def cores(record: LaunchRecord) -> list[CoreRows]:
    rows = record.timeline
    if rows is None:
        return []
    seats = sorted({(int(b), int(c)) for b, c in zip(rows["block"], rows["core"])})
    return sorted(
        (CoreRows(b, c, rows[(rows["block"] == b) & (rows["core"] == c)]) for b, c in seats), key=lambda c: c.order
    )


def _head(record: LaunchRecord, schema: int) -> dict:
    about = {
        "kernel": record.kernel,
        "time_kind": record.time_kind,
        "chip": record.chip,
        "by": "labkit twin",
        "instructions": str(record.timeline_total),
        "instructions_shown": str(0 if record.timeline is None else len(record.timeline)),
    }
    return {"displayTimeUnit": "ns", "otherData": about, "profilingType": "op", "schemaVersion": schema}


def _instruction(record: LaunchRecord, row, colour: str) -> dict:
    return {
        "args": {
            "code": f"line {int(row['line'])}" if row["line"] > 0 else "",
            "detail": record.time_kind,
            "process_bytes": str(int(row["bytes"])),
        },
        "cname": colour,
        "dur": round(float(row["end"] - row["start"]), 6),
        "name": record.op_names[row["op"]],
        "ph": "X",
        "ts": round(float(row["start"]), 6),
    }


def _threads(rows: np.ndarray) -> list[int]:
    """For each instruction of a pipe, by start: 1, or the first thread on which nothing is under way."""
    ends: list[float] = []
    found = []
    for row in rows:
        free = next((i for i, end in enumerate(ends) if end <= row["start"]), len(ends))
        ends[free : free + 1] = [row["end"]]
        found.append(free + 1)
    return found


def _pipes(core: CoreRows) -> list[tuple[int, np.ndarray, list[int]]]:
    """(pipe, its instructions, their threads)"""
    parts = [(int(pipe), core.rows[core.rows["pipe"] == pipe]) for pipe in np.unique(core.rows["pipe"])]
    return [(pipe, rows, _threads(rows)) for pipe, rows in parts]


def trace(record: LaunchRecord) -> dict:
    """The summary trace.json: a process for each core, a thread for each pipe, and more where its transfers overlap."""
    events = []
    for core in cores(record):
        events.append(
            {"args": {"sort_index": core.order}, "name": "process_sort_index", "ph": "M", "pid": core.name, "tid": "NA"}
        )
        for pipe, rows, threads in _pipes(core):
            lane, order, _, colour = LANES[record.pipe_names[pipe]]
            names = [lane, *(f"{lane} {n}" for n in range(2, max(threads) + 1))]
            events += [
                {"args": {"sort_index": order}, "name": "thread_sort_index", "ph": "M", "pid": core.name, "tid": name}
                for name in names
            ]
            events += [
                _instruction(record, row, colour) | {"pid": core.name, "tid": names[n - 1]}
                for row, n in zip(rows, threads)
            ]
    return _head(record, 2) | {"traceEvents": events}


def core_trace(record: LaunchRecord, core: CoreRows) -> dict:
    """A core's own trace.json: a process for each pipe."""
    events = []
    for pipe, rows, threads in _pipes(core):
        lane, _, pid, colour = LANES[record.pipe_names[pipe]]
        events += [
            {"args": {"name": lane}, "name": "process_name", "ph": "M", "pid": pid},
            {"args": {"sort_index": pid}, "name": "process_sort_index", "ph": "M", "pid": pid},
        ]
        events += [
            {"args": {"name": f"PIPE_{n}"}, "name": "thread_name", "ph": "M", "pid": pid, "tid": n}
            for n in range(1, max(threads) + 1)
        ]
        events += [_instruction(record, row, colour) | {"pid": pid, "tid": n} for row, n in zip(rows, threads)]
    return _head(record, 1) | {"traceEvents": events}


def instructions(record: LaunchRecord, core: CoreRows, hz: float) -> tuple[list[list], list[list]]:
    """Rows of code_exe.csv and instr_exe.csv. Addresses of code are not modelled: NA."""
    by_line: dict[int, list] = {}
    by_op: dict[tuple, list] = {}
    for row in core.rows:
        lane = LANES[record.pipe_names[row["pipe"]]][0]
        us = float(row["end"] - row["start"])
        for table, key in ((by_line, int(row["line"])), (by_op, (record.op_names[row["op"]], lane, int(row["line"])))):
            entry = table.setdefault(key, [0, 0.0])
            entry[0] += 1
            entry[1] += us
    code = [[f"line {line}", count, round(us * hz / 1e6), f"{us:.6f}"] for line, (count, us) in sorted(by_line.items())]
    instr = [
        [op, "NA", lane, count, round(us * hz / 1e6), f"{us:.6f}", f"line {line}"]
        for (op, lane, line), (count, us) in sorted(by_op.items())
    ]
    return code, instr
