"""What the clock charges for each instruction, against a table: tests/twin/clock/costs.csv,
a row for each line of tests/twin/kernels/costs.asc.

The numbers follow from the chip's table; that they are right is what tests/calibration/test_clock_accuracy.py is about.
Here a change shows, with the instruction's name: by intention (then `python tests/twin/clock/test_costs.py` writes the
table anew), or not.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

from places import KERNELS

import labkit
from labkit import chips
from labkit.launch.record import PIPES

KERNEL, TABLE = KERNELS / "costs.asc", Path(__file__).with_name("costs.csv")
FIELDS = ["instruction", "op", "pipe", "bytes", "cycles"]


def modelled() -> tuple[list[dict], dict]:
    """(a row for each instruction of costs.asc, in order; the sums of the whole launch)."""
    import torch

    x, z = (torch.zeros(1 << 18, dtype=torch.half).npu() for _ in range(2))
    record = labkit.kernel(KERNEL)[1](x, z)
    assert record.finished and not record.findings, record.report()
    lines, seen, rows = KERNEL.read_text().splitlines(), Counter(), []
    hz = chips.load()["clock"]["hz"]
    for event in sorted(record.timeline, key=lambda e: e["start"]):
        text = lines[event["line"] - 1].strip()
        text = m[1] if (m := re.match(r"DO\((.*)\);$", text)) else text
        op = record.op_names[event["op"]]
        seen[text, op] += 1
        rows.append(
            {
                "instruction": f"{text} #{seen[text, op]}",
                "op": op,
                "pipe": PIPES[event["pipe"]],
                "bytes": str(event["bytes"]),
                "cycles": f"{(event['end'] - event['start']) * 1e-6 * hz:.2f}",
            }
        )
    (core,) = record.cores
    return rows, {
        "time_us": round(record.time_us, 3),
        **{k: v for k, v in core.items() if k not in ("begin", "time") and not k.startswith("busy")},
    }


def test_every_instruction_costs_what_the_table_says():
    got, _ = modelled()
    known = list(csv.DictReader(TABLE.open()))
    told = []
    for row in known:
        name = f"{row['instruction']} ({row['op']})"
        mine = next((g for g in got if (g["instruction"], g["op"]) == (row["instruction"], row["op"])), None)
        if mine is None:
            told.append(f"{name}: not there any more")
        else:
            told += [
                f"{name}: {field} {row[field]}, now {mine[field]}" for field in FIELDS[2:] if row[field] != mine[field]
            ]
    told += [f"new: {g}" for g in got if all((g["instruction"], g["op"]) != (k["instruction"], k["op"]) for k in known)]
    assert not told, f"{len(told)} costs changed (python {Path(__file__).name} writes the table anew):\n" + "\n".join(
        told[:20]
    )


def test_the_sums_of_a_core_are_those_of_its_instructions():
    rows, sums = modelled()
    for pipe in PIPES[1:]:
        count = sum(r["pipe"] == pipe for r in rows)
        assert sums[f"instructions.{pipe}"] == count, f"{count} instructions of {pipe} in the timeline"
    for way, op in (("to_ub", "CopyIn"), ("from_ub", "CopyOut")):
        mine = [int(r["bytes"]) for r in rows if r["op"] == op and r["pipe"] != "V"]
        assert (sums[f"moves.{way}"], sums[f"bytes.{way}"]) == (len(mine), sum(mine)), f"{way}: {mine}"
    assert sums["read_hit"] + sums["read_miss"] == sums["bytes.to_ub"]


if __name__ == "__main__":
    from labkit import device

    device.install()
    rows = modelled()[0]
    with TABLE.open("w", newline="") as file:
        out = csv.DictWriter(file, FIELDS, lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
