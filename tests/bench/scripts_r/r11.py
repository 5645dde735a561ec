"""Sum and amax over the last or the first axis, for shapes that nobody has picked: a seed draws them, odd ones too.

Writes CSV to stdout, one line per (operator, shape, axis); read it with whatever you like.
"""
import csv
import random
import sys
from dataclasses import asdict, dataclass, fields

import numpy as np
import torch
import torch_npu  # noqa: F401

import labkit

SEED, DRAWN, TAKES = 2024, 8, 24


@dataclass
class Line:
    operator: str
    rows: int
    cols: int
    axis: int
    dtype: str
    l2: str
    takes: int
    median_us: float
    p10_us: float
    p90_us: float
    max_us: float
    read_gb_s: float


def shapes():
    """Extremes first (one row, one column, small), then drawn on a logarithmic scale."""
    yield from ((1, 1 << 20), (1 << 18, 1), (7, 33))
    dice = random.Random(SEED)
    for _ in range(DRAWN):
        yield round(2 ** dice.uniform(4, 11)), round(2 ** dice.uniform(4, 11))


def take(fn, x, axis):
    for _ in range(6):
        fn(x, axis)
    torch.npu.synchronize()
    pairs = []
    for _ in range(TAKES):
        labkit.device.clear_l2()
        torch.npu._sleep(50_000)
        pair = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        pair[0].record()
        fn(x, axis)
        pair[1].record()
        pairs.append(pair)
    torch.npu.synchronize()
    return np.array([1e3 * a.elapsed_time(b) for a, b in pairs])


def main():
    torch.manual_seed(SEED)
    operators = {"sum": torch.sum, "amax": torch.amax}
    writer = csv.DictWriter(sys.stdout, [f.name for f in fields(Line)])
    writer.writeheader()
    work = [(name, shape, axis) for shape in shapes() for name in operators for axis in (0, 1)]
    random.Random(SEED + 1).shuffle(work)  # neighbours in time are not neighbours in the table
    lines = []
    for name, (rows, cols), axis in work:
        x = torch.rand(rows, cols).npu()
        torch.testing.assert_close(operators[name](x, axis).cpu(), operators[name](x.cpu(), axis), rtol=1e-3, atol=1e-3)
        us = take(operators[name], x, axis)
        p10, p50, p90 = (round(float(v), 2) for v in np.percentile(us, [10, 50, 90]))
        rate = round(4 * rows * cols / p50 / 1e3, 1)
        lines.append(Line(name, rows, cols, axis, "float32", "empty", len(us), p50, p10, p90, round(float(us.max()), 2), rate))
    for line in sorted(lines, key=lambda l: (l.operator, l.rows * l.cols, l.axis)):
        writer.writerow(asdict(line))


if __name__ == "__main__":
    main()
