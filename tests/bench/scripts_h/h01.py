"""Activation table. Warm L2, 12 blocks of 20 calls each."""
import time
import numpy as np
import torch
import torch_npu

def warm(x):
    for _ in range(20):
        torch.relu(x)
    torch.npu.synchronize()

def blocks(f, x, count=12, calls=20):
    out = []
    for _ in range(count):
        torch.npu.synchronize()
        t0 = time.perf_counter_ns()
        for _ in range(calls):
            f(x)
        torch.npu.synchronize()
        out.append((time.perf_counter_ns() - t0) / calls / 1e3)
    return np.array(out)

for shape in [(64, 512), (1024, 1024), (17, 4097)]:
    x = torch.ones(shape, device="npu")
    warm(x)
    us = blocks(torch.nn.functional.gelu, x)
    print(f"gelu {shape}: median {np.median(us):.2f}, P90 {np.percentile(us, 90):.2f} us")
