"""Clamp on activations that stay in the L2, as they do between two layers. HOT CACHE on purpose: the producer has just
written them, so no flush; the figure is not one of HBM. One shape, the one our model has: (1, 2048, 1024) fp32.
"""

import statistics
from timeit import Timer

import torch
import torch_npu  # noqa: F401

SHAPE = (1, 2048, 1024)
hidden = torch.full(SHAPE, 7.5).npu()
N = 20


def many():
    for _ in range(N):
        torch.clamp(hidden, -6.0, 6.0)
    torch.npu.synchronize()


timer = Timer(many)
timer.repeat(repeat=4, number=1)  # warm-up, thrown away
us = [seconds / N * 1e6 for seconds in timer.repeat(repeat=60, number=1)]

tenths = statistics.quantiles(us, n=10)
print(f"clamp {SHAPE} float32, hot L2 (by design), {len(us)} samples of {N} calls, one wait behind each sample")
print(f"P50 {tenths[4]:.2f} us, P10 {tenths[0]:.2f}, P90 {tenths[8]:.2f}, stdev {statistics.stdev(us):.2f}")
print("Holds for this shape with the input resident in L2; a cold read takes longer.")
