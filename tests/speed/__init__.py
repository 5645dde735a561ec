"""The lab's own speed, as ratios taken in one run: `labkit bench self`.

A time alone says more about the machine than about the lab, so every row compares two things measured here and now,
alternately, best of several rounds. Nothing here is a test; the bars are the lab's own aims.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from speed import cost, device, loop, throughput
from speed.timing import Row


def main(slow: bool = False, as_json: bool = False) -> list[Row]:
    """Measures and prints. slow adds torch's load_inline (about a minute) and,
    where installed, Triton's interpreter.
    """
    rows = [*throughput.rows(), throughput.matmul_row(), *loop.rows(), *cost.rows(), *device.rows()]
    if slow:
        rows += [*throughput.triton_rows(), *loop.slow_rows(), *device.slow_rows()]
    if as_json:
        print(json.dumps([{**asdict(r), "met": r.met} for r in rows], indent=1))
        return rows
    from rich.console import Console
    from rich.table import Table

    table = Table("what", "ours", "compared with", "ratio", "bar", "")
    for r in rows:
        table.add_row(r.name, _time(r.ours), _time(r.theirs), f"{r.ratio:.2f}", r.bar, "met" if r.met else "missed")
    Console().print(table)
    return rows


def _time(seconds: float) -> str:
    if seconds < 1e-6:
        return f"{seconds * 1e9:.0f} ns"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} us"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.2f} ms"
