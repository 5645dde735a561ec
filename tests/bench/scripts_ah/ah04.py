"""Bandwidth of a full reduction, by torch.utils.benchmark."""
import time

import numpy as np
import torch
import torch_npu
from torch.utils import benchmark

NUMBER, REPEAT = 20, 25
MIB = 1 << 20


def device_clock():
    torch.npu.synchronize()
    return time.perf_counter()


def bandwidths(rows, cols):
    x = torch.rand(rows, cols)
    dx = x.npu()
    total = dx.sum().item()
    assert abs(total - x.double().sum().item()) < 1e-3 * abs(total)
    timer = benchmark.Timer("dx.sum()", globals={"dx": dx}, timer=device_clock, label="sum",
                            sub_label=f"{rows} x {cols}", num_threads=1)
    timer.timeit(10)
    seconds = np.array([timer.timeit(NUMBER).median for _ in range(REPEAT)])
    return seconds * 1e6, x.numel() * x.element_size() / seconds / 1e9


print("torch.sum over all elements, float32: how fast does it stream its input from HBM?")
print(f"{REPEAT} blocks of {NUMBER} calls, one wait behind each block; time per call")
print(f"{'shape':>14} {'MiB':>6} {'us p50':>9} {'us p10..p90':>18} {'HBM GB/s p50':>14} {'p10..p90':>16}")
for rows, cols in (512, 1024), (1024, 1024), (2048, 1024):
    us, rate = bandwidths(rows, cols)
    u, r = np.percentile(us, [10, 50, 90]), np.percentile(rate, [10, 50, 90])
    print(f"{rows:>6} x {cols:<5} {rows * cols * 4 / MIB:>6.1f} {u[1]:>9.2f} {u[0]:>8.2f} .. {u[2]:<6.2f}"
          f" {r[1]:>14.1f} {r[0]:>7.1f} .. {r[2]:.1f}")
print("So this is what a reduction gets out of the main memory for data that arrives for the first time.")
