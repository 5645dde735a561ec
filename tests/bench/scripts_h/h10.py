"""Matrix products in half precision (fp16); 20 samples of 10 products."""
import time
import numpy as np
import torch
import torch_npu

NS = lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC)
for n in (512, 1024, 2048):
    a = torch.ones(n, n, dtype=torch.float16).npu()
    for _ in range(5):
        a @ a
    torch.npu.synchronize()
    us = np.empty(20)
    for i in range(20):
        t = NS()
        for _ in range(10):
            a @ a
        us[i] = (NS() - t) / 1e4
        torch.npu.synchronize()
    print(f"{n}x{n}x{n}: {np.percentile(us, 5):.1f} {np.median(us):.1f} {np.percentile(us, 95):.1f} us")
