import time

import torch
import torch.nn.functional as F
import torch_npu

SHAPES = [(8, 256, 256), (32, 256, 256), (32, 256, 512)]
SAMPLES, WARMUP, BINS = 60, 10, 10


def collect(m, k, n):
    w = torch.randn(n, k, device="npu", dtype=torch.float16) * k ** -0.5
    b = torch.randn(n, device="npu", dtype=torch.float16)
    xs = [torch.randn(m, k, device="npu", dtype=torch.float16) for _ in range(8)]
    ref = F.linear(xs[0].cpu().float(), w.cpu().float(), b.cpu().float())
    torch.testing.assert_close(F.linear(xs[0], w, b).cpu().float(), ref, rtol=1e-2, atol=2e-2)
    for i in range(WARMUP):
        F.linear(xs[i % 8], w, b)
    torch.npu.synchronize()
    us = []
    for i in range(SAMPLES):
        x = xs[i % 8]
        t0 = time.perf_counter()
        F.linear(x, w, b)
        torch.npu.synchronize()
        us.append((time.perf_counter() - t0) * 1e6)
    us.sort()
    return us[:-len(us) // 10]


def histogram(us):
    lo, hi = us[0], us[-1]
    width = max((hi - lo) / BINS, 0.01)
    counts = [0] * BINS
    for t in us:
        counts[min(BINS - 1, int((t - lo) / width))] += 1
    for i, c in enumerate(counts):
        if c:
            print(f"    {lo + i * width:9.3f} us | {'#' * c}")


print("linear + bias, fp16: latency of a single call (issue and wait), weights and inputs L2-hot")
for shape in SHAPES:
    us = collect(*shape)
    at = lambda q: us[int(q * (len(us) - 1))]
    print(f"m, k, n = {shape}: p50 {at(.5):.2f} us, p99 {at(.99):.2f} us, worst {us[-1]:.2f} us, "
          f"worst/p50 {us[-1] / at(.5):.2f}")
    histogram(us)
