"""GELU on 64 x 4096 and 512 x 4096: percentiles of 25 samples of 20 calls, warm L2."""
import numpy as np
import torch
import torch_npu

now = lambda: np.datetime64("now", "ms")
import datetime

def stamp():
    t = datetime.datetime.now()
    return t.replace(microsecond=t.microsecond // 1000 * 1000)

for rows in (64, 512):
    x = torch.ones(rows, 4096).npu()
    for _ in range(5):
        torch.nn.functional.gelu(x)
    us = []
    for _ in range(25):
        torch.npu.synchronize()
        t = stamp()
        for _ in range(20):
            torch.nn.functional.gelu(x)
        torch.npu.synchronize()
        us.append((stamp() - t).total_seconds() * 1e6 / 20)
    print(f"gelu {rows} x 4096: P50 {np.percentile(us, 50):.1f}  P90 {np.percentile(us, 90):.1f} us")
