import argparse
import statistics
import time

import torch
import torch_npu  # noqa: F401

p = argparse.ArgumentParser()
p.add_argument("--sizes", type=int, nargs="+", default=[64, 160, 320])
p.add_argument("--rounds", type=int, default=15)
p.add_argument("--calls", type=int, default=20)
opt = p.parse_args()

for n in opt.sizes:
    w = torch.ones(n, n, device="npu")
    h = torch.ones(n, n, device="npu")
    for _ in range(8):
        y = torch.mm(h, w)
    torch.npu.synchronize()  # warm and idle
    rows = []
    for _ in range(opt.rounds):
        tic = time.perf_counter_ns()
        for _ in range(opt.calls):
            y = torch.mm(h, w)
        toc = time.perf_counter_ns()
        rows.append((toc - tic) / opt.calls / 1e3)
        torch.npu.synchronize()  # nothing left over for the next round
    med = statistics.median(rows)
    print(f"mm fp32 {n}^3 (operands in L2): {med:.2f} us/call, min {min(rows):.2f}, max {max(rows):.2f}")
    print(f"    i.e. {2 * n**3 / med / 1e6:.3f} TFLOP/s")
