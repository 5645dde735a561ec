"""Sorting: last chunk of the data, by width. Median and P95 of 30 samples by events, NPU."""
import torch
import torch_npu
import numpy as np

def chunk(x, i, size):
    return x[i * size : (i + 1) * size]

for width in (64, 1024):
    x = torch.ones(1000, width).npu()
    part = chunk(x, 10, 100)
    for _ in range(5):
        torch.sort(part, dim=1)
    torch.npu.synchronize()
    ev = [[torch.npu.Event(enable_timing=True) for _ in range(2)] for _ in range(30)]
    for s, e in ev:
        s.record()
        for _ in range(10):
            torch.sort(part, dim=1)
        e.record()
    torch.npu.synchronize()
    us = [100 * s.elapsed_time(e) for s, e in ev]
    print(f"sort 100 x {width}: {np.median(us):.2f} us, P95 {np.percentile(us, 95):.2f}")
