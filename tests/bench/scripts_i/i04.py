"""How much DRAM traffic per second does a copy reach? Read and write are counted."""
import time
import numpy as np
import torch
import torch_npu

for n in (2**20, 2**23):
    a = torch.ones(n).npu()
    b = torch.empty_like(a)
    for _ in range(5):
        b.copy_(a)
    rate = []
    for _ in range(20):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(20):
            b.copy_(a)
        torch.npu.synchronize()
        rate.append(2 * a.nbytes * 20 / (time.perf_counter() - t) / 2**30)
    print(f"{n} floats: {np.percentile(rate, [10, 50, 90]).round(0)} GiB per second")
