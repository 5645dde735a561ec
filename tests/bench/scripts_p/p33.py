"""add: a 10 % trimmed mean beside the full one, and what was trimmed is printed."""
import time

import numpy as np
import torch
import torch_npu  # noqa: F401

for n in (4096, 1 << 20):
    a, b = torch.ones(n, device="npu"), torch.ones(n, device="npu")
    for _ in range(10):
        a + b
    us = []
    for _ in range(50):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(20):
            a + b
        torch.npu.synchronize()
        us.append((time.perf_counter() - t) * 5e4)
    us = np.sort(us)
    cut = len(us) // 10
    inner, outer = us[cut:-cut], np.concatenate([us[:cut], us[-cut:]])
    print(f"add {n} x float32 warm: mean of all {us.mean():.3f} us (std {us.std():.3f}); trimmed mean {inner.mean():.3f} us")
    print(f"   cut at both ends: {len(outer)} of {len(us)} samples, {outer.min():.3f} to {outer.max():.3f} us")
