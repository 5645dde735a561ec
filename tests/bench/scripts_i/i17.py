"""Three workloads, light, usual and heavy: P50 and P95 of 20 samples of ten calls; warm L2."""
import time
import numpy as np
import torch
import torch_npu

WORK = {"light": 200, "usual": 900, "heavy": 3000}
table = torch.ones(900, 400).npu()

def build(name):
    rows = WORK[name]
    return table[:rows] if rows < 100 else table

for name in WORK:
    x = build(name)
    for _ in range(5):
        torch.cumsum(x, 0)
    us = []
    for _ in range(20):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(10):
            torch.cumsum(x, 0)
        torch.npu.synchronize()
        us.append((time.perf_counter() - t) * 1e5)
    print(f"{name}: {np.percentile(us, 50):.1f} / {np.percentile(us, 95):.1f} us")
