"""exp under a budget: each size gets 10 ms of clock time for its warm-up and 30 ms for its samples."""
import time

import torch
import torch_npu  # noqa: F401


def spend(budget, work):
    got, end = [], time.perf_counter() + budget
    while True:
        torch.npu.synchronize()
        t = time.perf_counter()
        if t >= end:
            return got
        for _ in range(30):
            work()
        torch.npu.synchronize()
        got.append((time.perf_counter() - t) / 30 * 1e6)


for n in (10_000, 500_000):
    x = torch.zeros(n, device="npu")
    torch.exp(x)
    spend(0.010, lambda: torch.exp(x))
    got = torch.tensor(spend(0.030, lambda: torch.exp(x)))
    print(f"exp, {n} elements of float32, L2-resident: {len(got)} samples in 30 ms, median {got.median():.2f} us, std {got.std():.3f} us, max {got.max():.2f} us")
