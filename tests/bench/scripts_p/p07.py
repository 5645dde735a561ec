"""add: a histogram of the latency of single calls, each of which is waited for, since that is the question."""
import time
from collections import Counter

import torch
import torch_npu  # noqa: F401

a = torch.ones(1 << 20, device="npu")
b = torch.ones(1 << 20, device="npu")
for _ in range(32):
    a + b
torch.npu.synchronize()

bins, every = Counter(), []
for _ in range(300):
    t0 = time.perf_counter_ns()
    a + b
    torch.npu.synchronize()
    ns = time.perf_counter_ns() - t0
    every.append(ns)
    bins[ns // 500] += 1

print("synchronous add, 1048576 float32, call to completion (wait included), inputs warm:")
for bin in sorted(bins):
    print(f"{bin * 0.5:7.1f} .. {bin * 0.5 + 0.5:7.1f} us  {'#' * (bins[bin] * 60 // len(every))} {bins[bin]}")
