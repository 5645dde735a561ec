"""Batched products for three batch sizes, 20 samples of 10 calls each, quartiles."""
import time
import numpy as np
import torch
import torch_npu

def product(a, b):
    try:
        return torch.bmm(a, b)
    except RuntimeError:
        return None

for batch in (2, 8, 32):
    a, b = torch.ones(batch, 64, 128).npu(), torch.ones(batch, 64, 128).npu()
    for _ in range(5):
        product(a, b)
    us = []
    for _ in range(20):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(10):
            product(a, b)
        torch.npu.synchronize()
        us.append((time.perf_counter() - t) * 1e5)
    print(f"bmm ({batch}, 64, 128): {np.percentile(us, [25, 50, 75]).round(2)} us on the NPU")
