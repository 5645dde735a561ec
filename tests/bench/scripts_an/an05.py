import csv
import sys
import time

import torch
import torch_npu

# latency of torch.cat for two to eight pieces, as CSV on stdout
WARM, N = 10, 100
CASES = [
    # pieces, rows, columns of one piece, dim
    (2, 256, 512, 1),
    (2, 1024, 1024, 0),
    (4, 1024, 256, 1),
    (8, 512, 512, 0),
]


def pieces_for(n, rows, cols):
    return [torch.randn(rows, cols, device="npu", dtype=torch.float16) for _ in range(n)]


def latency(parts, dim):
    for _ in range(WARM):
        torch.cat(parts, dim=dim)
    torch.npu.synchronize()
    us = []
    for _ in range(N):
        t = time.perf_counter()
        torch.cat(parts, dim=dim)
        torch.npu.synchronize()
        us.append((time.perf_counter() - t) * 1e6)
    return sorted(us)


def check(parts, dim):
    whole = torch.cat(parts, dim=dim)
    for got, want in zip(whole.split(parts[0].shape[dim], dim=dim), parts):
        if not torch.equal(got.cpu(), want.cpu()):
            raise SystemExit("torch.cat gave a wrong piece")


out = csv.writer(sys.stdout)
print("# torch.cat, float16, one call until the device is done (launch and wait included), microseconds")
print("# inputs are the same in all calls and stay in the L2 cache: hot-cache latency, not memory bandwidth")
out.writerow(["pieces", "rows", "cols", "dim", "n", "min_us", "p50_us", "p90_us", "max_us"])
for n, rows, cols, dim in CASES:
    parts = pieces_for(n, rows, cols)
    check(parts, dim)
    us = latency(parts, dim)
    out.writerow([n, rows, cols, dim, len(us)] +
                 [f"{v:.2f}" for v in (us[0], us[len(us) // 2], us[len(us) * 9 // 10], us[-1])])
