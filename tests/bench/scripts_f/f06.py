"""Kernel time on two streams: one multiplies, one adds."""
import time
import numpy as np
import torch
import torch_npu

left, right = torch.npu.Stream(), torch.npu.Stream()
for n in (64, 128, 256):
    a, b = torch.ones(n, n).npu(), torch.ones(n, n).npu()
    torch.npu.synchronize()

    def both():
        with torch.npu.stream(left):
            torch.mm(a, b)
        with torch.npu.stream(right):
            torch.add(a, b)

    for _ in range(10):
        both()
    torch.npu.synchronize()
    us = []
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(10):
            both()
            left.synchronize()
            right.synchronize()
        us.append((time.perf_counter() - start) / 10 * 1e6)
    print(n, "x", n, "pair of kernels: P50 %.2f us  P90 %.2f us, hot L2" % tuple(np.percentile(us, [50, 90])))
