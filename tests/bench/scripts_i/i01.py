"""Elementwise chain, checked against the reference each time. Quartiles of 20 samples of 10 calls, warm L2."""
import time
import numpy as np
import torch
import torch_npu

for n in (1000, 250_000):
    x = torch.full((n,), 0.25).npu()
    want = x * 2 + 1

    def call():
        got = torch.add(x, x) + 1
        assert torch.allclose(got, want)

    for _ in range(5):
        call()
    us = []
    for _ in range(20):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(10):
            call()
        torch.npu.synchronize()
        us.append(1e5 * (time.perf_counter() - t))
    print(f"{n} floats: quartiles {np.percentile(us, [25, 50, 75]).round(2)} us")
