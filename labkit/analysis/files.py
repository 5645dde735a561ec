"""A launch as a folder of `msprof op` and `msprof op simulator`."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

from labkit import chips
from labkit.analysis import simulator
from labkit.launch.msprof_tables import tables
from labkit.launch.record import LaunchRecord
from labkit.messages import text

CODE = ["code", "call_count", "cycles", "running_time(us)"]
INSTRUCTIONS = ["instr", "addr", "pipe", "call_count", "cycles", "running_time(us)", "detail"]


def save(record: LaunchRecord, folder: str | os.PathLike) -> Path:
    """Writes the CSV files, README.txt and simulator/trace.json;
    the lists of instructions only where the timeline is whole.

    Raises ValueError for a launch without counters.
    """
    frames = tables(record)
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    for name, frame in frames.items():
        lines = [",".join(frame.columns)] + [",".join(_cell(v) for v in row) for row in frame.itertuples(index=False)]
        _write(home / f"{name}.csv", "".join(line + ",\n" for line in lines))
    _write(
        home / "README.txt",
        text("explain.readme", chip=record.chip, kernel=record.kernel, kind=text(f"fig_{record.time_kind}")) + "\n",
    )
    _write(home / "simulator" / "trace.json", json.dumps(simulator.trace(record), sort_keys=True))
    whole = len(record.timeline) == record.timeline_total
    hz = chips.load(record.chip)["clock"]["hz"]
    for core in simulator.cores(record):
        place = home / "simulator" / core.name
        _write(place / "trace.json", json.dumps(simulator.core_trace(record, core), sort_keys=True))
        if whole:
            code, instr = simulator.instructions(record, core, hz)
            for kind, header, rows in (("code", CODE, code), ("instr", INSTRUCTIONS, instr)):
                with open(place / f"{core.name}_{kind}_exe.csv", "w", newline="", encoding="utf-8") as file:
                    csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return home


def _write(path: Path, words: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(words, encoding="utf-8", newline="\n")


def _cell(value) -> str:
    if isinstance(value, float):
        return f"{value:.6f}"
    return "NA" if not isinstance(value, (int, str)) else str(value)
