"""Row softmax in half precision. Writes one CSV line per shape to stdout."""

import csv
import statistics
import sys
from dataclasses import asdict, dataclass, fields

import torch
import torch_npu  # noqa: F401


@dataclass
class Row:
    shape: str
    dtype: str
    samples: int
    mean_us: float
    stdev_us: float
    min_us: float
    max_us: float


def wake_device():
    # The card sleeps between jobs: give it something to do first.
    pad = torch.ones(1024, 1024).npu()
    for _ in range(20):
        torch.relu(pad)
    torch.npu.synchronize()


def sample(x, count):
    marks = []
    for _ in range(count):
        begin = torch.npu.Event(enable_timing=True)
        end = torch.npu.Event(enable_timing=True)
        begin.record()
        torch.softmax(x, dim=-1)
        end.record()
        marks.append((begin, end))
    torch.npu.synchronize()
    return [begin.elapsed_time(end) * 1000.0 for begin, end in marks]


def measure(rows, cols, count=40):
    x = torch.rand(rows, cols).half().npu()
    us = sample(x, count)
    return Row(f"{rows}x{cols}", "float16", count, statistics.fmean(us), statistics.stdev(us), min(us), max(us))


wake_device()
out = csv.DictWriter(sys.stdout, [f.name for f in fields(Row)])
out.writeheader()
for rows, cols in ((2048, 1024), (1024, 4096), (4096, 512)):
    out.writerow({k: round(v, 2) if isinstance(v, float) else v for k, v in asdict(measure(rows, cols)).items()})
