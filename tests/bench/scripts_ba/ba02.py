#!/usr/bin/env python
# square matmul, cost of the very first call and rate once it runs
import time
from statistics import median

import torch
import torch_npu

SIZES = [128, 256, 512]
INNER = 10
OUTER = 12


def sync():
    torch.npu.synchronize()


def first_call_ms(a, b):
    sync()
    t0 = time.perf_counter()
    torch.matmul(a, b)
    sync()
    return (time.perf_counter() - t0) * 1e3


def steady_s(a, b, out):
    for _ in range(5):
        torch.matmul(a, b, out=out)
    sync()
    per_call = []
    for _ in range(OUTER):
        t0 = time.perf_counter()
        for _ in range(INNER):
            torch.matmul(a, b, out=out)
        sync()
        per_call.append((time.perf_counter() - t0) / INNER)
    return per_call


rows = []
for n in SIZES:
    a = torch.randn(n, n, device="npu")
    b = torch.randn(n, n, device="npu")
    out = torch.empty(n, n, device="npu")
    cold = first_call_ms(a, b)
    t = steady_s(a, b, out)
    mid = median(t)
    rows.append((n, cold, mid * 1e6, min(t) * 1e6, max(t) * 1e6, 2 * n**3 / mid / 1e12))

print("float32 matmul, n x n by n x n. 'first' is the first call at that size, in ms")
print("(result allocated; the very first row also loads the operator);")
print(f"the others are us per call, {OUTER} groups of {INNER} calls, one wait per group.")
print("TFLOP/s = 2 n^3 / median; for these small n the launch path counts as much as the cube unit.")
print()
print("|    n | first ms | median us |   min us |   max us | TFLOP/s |")
print("|-----:|---------:|----------:|---------:|---------:|--------:|")
for n, cold, mid, low, high, rate in rows:
    print(f"| {n:4d} | {cold:8.3f} | {mid:9.2f} | {low:8.2f} | {high:8.2f} | {rate:7.3f} |")
