"""Batched matmul, one CSV line per shape."""
import csv
import statistics
import sys
import time

import torch
import torch_npu

SHAPES = [(4, 64, 64, 64), (8, 64, 128, 64), (8, 128, 128, 128)]
WARM, ROUNDS, CALLS = 10, 10, 8

out = csv.writer(sys.stdout)
out.writerow(["b", "m", "k", "n", "dtype", "rounds", "calls_per_round",
              "us_per_call_median", "us_per_call_min", "us_per_call_max", "gflops_at_median"])
for b, m, k, n in SHAPES:
    pairs = [(torch.randn(b, m, k, device="npu"), torch.randn(b, k, n, device="npu"))
             for _ in range(4)]
    x, y = pairs[0]
    torch.testing.assert_close(torch.bmm(x, y).cpu(), torch.bmm(x.cpu(), y.cpu()), rtol=1e-2, atol=1e-2)
    for i in range(WARM):
        torch.bmm(*pairs[i % 4])
    torch.npu.synchronize()

    us = []
    for _ in range(ROUNDS):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        for i in range(CALLS):
            torch.bmm(*pairs[i % 4])
        torch.npu.synchronize()
        us.append((time.perf_counter() - t0) / CALLS * 1e6)
    med = statistics.median(us)
    out.writerow([b, m, k, n, "float32", ROUNDS, CALLS, f"{med:.3f}", f"{min(us):.3f}",
                  f"{max(us):.3f}", f"{2 * b * m * k * n / med / 1e3:.1f}"])
print("# bmm of fp32 on inputs that are hot in L2; back-to-back calls with one wait per round, "
      "so for small shapes this is the rate of issuing, not of computing", file=sys.stdout)
