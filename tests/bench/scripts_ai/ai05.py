import csv
import sys

import numpy as np
import torch
import torch_npu

SHAPES = [(32, 256), (64, 256), (64, 512)]
SAMPLES, WARM = 60, 15


def by_sort(x):
    return torch.sort(x, dim=-1, descending=True).values


def by_topk(x):
    return torch.topk(x, x.shape[-1], dim=-1, largest=True, sorted=True).values


def measure(function, x):
    for _ in range(WARM):
        function(x)
    torch.npu.synchronize()
    marks = []
    for _ in range(SAMPLES):
        start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        start.record()
        function(x)
        end.record()
        marks.append((start, end))
    torch.npu.synchronize()
    return np.array([1000 * s.elapsed_time(e) for s, e in marks])


print(f"# sorting rows, float32, hot L2, device time by events, {SAMPLES} samples each, microseconds")
writer = csv.DictWriter(sys.stdout, ["rows", "cols", "way", "p10", "p50", "p90", "max", "faster"])
writer.writeheader()
inputs = {}
for rows, cols in SHAPES:
    host = torch.randn(rows, cols, generator=torch.Generator().manual_seed(cols))
    x = host.npu()
    want = host.sort(dim=-1, descending=True).values
    assert torch.equal(by_sort(x).cpu(), want) and torch.equal(by_topk(x).cpu(), want)
    inputs[rows, cols] = x

times = {way: {shape: measure(way, x) for shape, x in inputs.items()} for way in (by_sort, by_topk)}

for shape in SHAPES:
    best = min(times, key=lambda way: np.median(times[way][shape]))
    for way in times:
        us = times[way][shape]
        p10, p50, p90 = np.percentile(us, [10, 50, 90])
        writer.writerow(dict(rows=shape[0], cols=shape[1], way=way.__name__, p10=f"{p10:.2f}", p50=f"{p50:.2f}",
                             p90=f"{p90:.2f}", max=f"{us.max():.2f}", faster="yes" if way is best else ""))
for shape in SHAPES:
    a, b = (np.median(times[way][shape]) for way in (by_sort, by_topk))
    print(f"# {shape[0]} x {shape[1]}: {'topk' if b < a else 'sort'} wins, {max(a, b) / min(a, b):.3f} times as fast")
