#!/usr/bin/env python
# Quick GEMM burn: how many TFLOP/s does one 8192^3 bf16 matmul sustain here?
import argparse
import time

import labkit  # noqa: F401
import torch

parser = argparse.ArgumentParser()
parser.add_argument("-n", type=int, default=8192)
parser.add_argument("--iters", type=int, default=100)
parser.add_argument("--windows", type=int, default=3)
opt = parser.parse_args()

a = torch.ones(opt.n, opt.n, dtype=torch.bfloat16, device="npu")
b = torch.ones(opt.n, opt.n, dtype=torch.bfloat16, device="npu")
out = torch.empty(opt.n, opt.n, dtype=torch.bfloat16, device="npu")

for _ in range(5):
    torch.mm(a, b, out=out)
torch.npu.synchronize()

flop = 2 * opt.n ** 3 * opt.iters
rates, seconds = [], []
for w in range(opt.windows):
    t = time.time()
    for _ in range(opt.iters):
        torch.mm(a, b, out=out)
    torch.npu.synchronize()
    dt = time.time() - t
    seconds.append(dt)
    rates.append(flop / dt / 1e12)

rates.sort()
print(f"windows of {opt.iters} launches, {', '.join(f'{s:.2f} s' for s in seconds)}")
print(f"mm {opt.n}x{opt.n}x{opt.n} bf16 (all-ones operands): "
      f"{rates[len(rates) // 2]:.1f} TFLOP/s median of {opt.windows} "
      f"(range {rates[0]:.1f} .. {rates[-1]:.1f})")
print("this shape only; other shapes were not measured")
