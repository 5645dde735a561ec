"""exp(x) - 1: baseline and candidate; 64 x 1000 and 2000 x 1000; warm L2."""
import time
import numpy as np
import torch
import torch_npu

def samples(f, count=25):
    f(), f(), torch.npu.synchronize()
    out = []
    for _ in range(count):
        t = time.perf_counter()
        for _ in range(10):
            f()
        torch.npu.synchronize()
        out.append(1e5 * (time.perf_counter() - t))
    return np.percentile(out, [10, 50, 90]).round(2)

for n in (64, 2000):
    x = torch.ones(n, 1000).npu()
    print(n, "x 1000 baseline ", samples(lambda: torch.exp(x) - 1), "us")
    print(n, "x 1000 candidate", samples(lambda: torch.expm1(x)), "us")
