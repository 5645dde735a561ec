# right
"""Bandwidth from HBM: the inputs are taken in turn from a set that is larger than the L2."""

import torch
import torch_npu
import numpy as np

N, SETS = 1 << 22, 16
inputs = [torch.rand(N).npu() for _ in range(SETS)]
out = torch.empty(N).npu()
for i in range(20):
    torch.add(inputs[i % SETS], 1, out=out)
marks = []
for i in range(64):
    s, e = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    s.record()
    torch.add(inputs[i % SETS], 1, out=out)
    e.record()
    marks.append((s, e))
torch.npu.synchronize()
us = np.array([1e3 * s.elapsed_time(e) for s, e in marks])
p10, p50, p90 = np.percentile(us, [10, 50, 90])
print(f"add {N} floats, cold: {p50:.1f} us [{p10:.1f}, {p90:.1f}], {8 * N / p50 / 1e3:.0f} GB/s")
