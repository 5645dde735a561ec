"""What a trace holds, whichever files it was read from: tables of Polars, times in µs since `base_ns`.

A table is always there with all its columns; without rows where the files had nothing. Null is "not recorded".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from labkit.trace import intervals

TEXT, REAL, WHOLE = pl.String, pl.Float64, pl.Int64

KERNELS = {
    "name": TEXT, "type": TEXT, "core": TEXT, "start": REAL, "dur": REAL, "wait": REAL, "blocks": WHOLE,
    "mix_blocks": WHOLE, "stream": WHOLE, "task": WHOLE, "device": WHOLE, "step": WHOLE, "in_shapes": TEXT,
    "in_types": TEXT, "in_formats": TEXT, "out_shapes": TEXT, "out_types": TEXT, "out_formats": TEXT,
    "issued": REAL,  # when the host handed it to the device
    "op_time": REAL,  # a moment within the host operator that it belongs to
    "op_thread": WHOLE,
}  # fmt: skip
TASKS = {  # what else a device's streams did: copies, events
    "name": TEXT, "kind": TEXT, "start": REAL, "dur": REAL, "stream": WHOLE, "issued": REAL, "bytes": REAL,
}  # fmt: skip
HOST = {  # kind: op, module, step
    "name": TEXT, "kind": TEXT, "thread": WHOLE, "start": REAL, "dur": REAL, "shapes": TEXT, "types": TEXT,
    "stack": pl.Categorical,  # long and few: each kept once
}  # fmt: skip
CALLS = {"name": TEXT, "level": TEXT, "thread": WHOLE, "start": REAL, "dur": REAL}
COMM = {"name": TEXT, "group": TEXT, "start": REAL, "dur": REAL, "types": TEXT, "count": REAL, "issued": REAL}
COMM_TASKS = {
    "name": TEXT, "start": REAL, "dur": REAL, "source": WHOLE, "target": WHOLE, "bytes": REAL, "link": TEXT,
    "bandwidth": REAL,
}  # fmt: skip
STEPS = {"step": WHOLE, "start": REAL, "dur": REAL}
MEMORY = {"component": TEXT, "time": REAL, "allocated": REAL, "reserved": REAL, "active": REAL}  # MB
ALLOCATIONS = {
    "name": TEXT, "kb": REAL, "time": REAL, "released": REAL, "allocated": REAL, "reserved": REAL, "active": REAL,
}  # fmt: skip
OVERLAP = {"kind": TEXT, "start": REAL, "dur": REAL}
STEP_TIMES = {
    "step": TEXT, "computing": REAL, "exposed": REAL, "overlapped": REAL, "communication": REAL, "free": REAL,
    "stage": REAL, "bubble": REAL, "preparing": REAL,
}  # fmt: skip
COMM_TIMES = {
    "step": TEXT, "name": TEXT, "group": TEXT, "elapsed": REAL, "transit": REAL, "waiting": REAL,
    "synchronising": REAL, "idle": REAL,
}  # fmt: skip
LINKS = {
    "step": TEXT, "name": TEXT, "source": WHOLE, "target": WHOLE, "transport": TEXT, "mb": REAL, "ms": REAL,
    "bandwidth": REAL,
}  # fmt: skip


def empty(schema: dict) -> pl.DataFrame:
    return pl.DataFrame(schema=schema)


def fitted(table: pl.DataFrame, schema: dict, more: bool = False) -> pl.DataFrame:
    """`table` with exactly the columns of `schema` in their types; `more`: and whatever else it has."""
    columns = [
        (pl.col(name).cast(kind, strict=False) if name in table.columns else pl.lit(None, dtype=kind)).alias(name)
        for name, kind in schema.items()
    ]
    rest = [pl.col(name) for name in table.columns if more and name not in schema]
    return table.select(columns + rest)


def _table(schema: dict):
    return field(default_factory=lambda: empty(schema))


@dataclass
class Trace:
    """One recording of one device: a `*_ascend_pt` folder, a `PROF_*` folder, or a single file."""

    path: Path
    kind: str = ""  # which files it was read from: "torch_npu text", "torch_npu db", "msprof", "trace_view", ...
    base_ns: int = 0
    rank: int | None = None
    separate: bool = False  # one of several recordings that lie in one folder and are no ranks of one job
    simulated: bool = False
    generation: str = ""  # what the headers say of CANN's version
    level: str = ""
    settings: dict = field(default_factory=dict)  # profiler_info.json
    metadata: dict = field(default_factory=dict)  # profiler_metadata.json
    cores: dict = field(default_factory=dict)  # {"aic": 20, "aiv": 40, "mhz": 1650} where info.json says so
    files: list[str] = field(default_factory=list)
    problems: list = field(default_factory=list)  # refusals.Problem: what could not be read
    kernels: pl.DataFrame = _table(KERNELS)
    tasks: pl.DataFrame = _table(TASKS)
    host: pl.DataFrame = _table(HOST)
    calls: pl.DataFrame = _table(CALLS)
    comm: pl.DataFrame = _table(COMM)
    comm_tasks: pl.DataFrame = _table(COMM_TASKS)
    steps: pl.DataFrame = _table(STEPS)
    memory: pl.DataFrame = _table(MEMORY)
    allocations: pl.DataFrame = _table(ALLOCATIONS)
    overlap: pl.DataFrame = _table(OVERLAP)
    step_times: pl.DataFrame = _table(STEP_TIMES)
    comm_times: pl.DataFrame = _table(COMM_TIMES)
    links: pl.DataFrame = _table(LINKS)
    _computing: tuple | None = None  # (kernels, those of them that compute)

    @property
    def word(self) -> str:
        """How the times of this trace may be called."""
        return "modelled" if self.simulated else "measured"

    def window(self) -> tuple[float, float]:
        """From the first step's beginning to the last end; without steps, from the first device task on."""
        starts, ends = [], []
        for table in (self.kernels, self.tasks, self.comm):
            if table.height:
                starts.append(table["start"].min())
                ends.append((table["start"] + table["dur"]).max())
        if self.steps.height:
            first = self.steps["start"].min()
            return first, max([(self.steps["start"] + self.steps["dur"]).max(), *ends])
        if not starts and self.host.height:
            return self.host["start"].min(), (self.host["start"] + self.host["dur"]).max()
        return (min(starts), max(ends)) if starts else (0.0, 0.0)

    def step_count(self) -> int:
        return max(self.steps.height, 1)

    def step_us(self) -> float:
        """The mean time of a step; the whole recording where no steps are marked."""
        start, end = self.window()
        return (end - start) / self.step_count()

    def compute(self) -> pl.DataFrame:
        """The kernels that compute: without communication, which some files list among them."""
        if self._computing is None or self._computing[0] is not self.kernels:
            other = self.kernels.select(is_communication().any()).item()
            found = self.kernels.filter(~is_communication()) if other else self.kernels
            self._computing = (self.kernels, found)
        return self._computing[1]

    def busy(self) -> intervals.Spans:
        table = self.compute()
        return spans(table)

    def communicating(self) -> intervals.Spans:
        if self.comm.height:
            return spans(self.comm)
        return spans(self.kernels.filter(is_communication()))

    def copies(self) -> pl.DataFrame:
        return self.tasks.filter(pl.col("kind") == "copy")


def is_communication() -> pl.Expr:
    """Rows of kernels that are collectives: by the core's name, CANN 6 to 9, or by HCCL's way to name them."""
    return (
        pl.col("core").is_in(["HCCL", "COMMUNICATION"])
        | pl.col("name").fill_null("").str.contains(r"^(hcom_|Hccl|HCCL_|allreduceAicpu)")
    ).fill_null(False)


def spans(table: pl.DataFrame) -> intervals.Spans:
    starts = table["start"].to_numpy()
    return intervals.union(starts, starts + table["dur"].to_numpy())


def ends(table: pl.DataFrame) -> np.ndarray:
    return table["start"].to_numpy() + table["dur"].to_numpy()
