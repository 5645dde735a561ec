#!/usr/bin/env python
# Is it worth passing out= to elementwise calls?  Cost per call for tiny tensors,
# where the host's dispatch dominates.
import statistics

import torch
import torch_npu

ROUNDS = 40
CALLS = 3
WARM = 10

dev = "npu"
x = torch.randn(32, 32, device=dev)
buf = torch.empty_like(x)


def allocating():
    for _ in range(CALLS):
        torch.mul(x, 2.0)


def preallocated():
    for _ in range(CALLS):
        torch.mul(x, 2.0, out=buf)


def tick():
    return torch.npu.Event(enable_timing=True)


def one_round():
    torch.npu.synchronize()
    a, b, c = tick(), tick(), tick()
    a.record()
    allocating()
    b.record()
    preallocated()
    c.record()
    c.synchronize()
    return a.elapsed_time(b) * 1e3 / CALLS, b.elapsed_time(c) * 1e3 / CALLS


for _ in range(WARM):
    one_round()

pairs = [one_round() for _ in range(ROUNDS)]
alloc = [p[0] for p in pairs]
pre = [p[1] for p in pairs]

print(f"torch.mul(x, 2.0), x = {tuple(x.shape)} float32, {ROUNDS} rounds of {CALLS} calls per variant, after {WARM} warm-up rounds")
print(f"{'variant':<14}{'median us/call':>16}{'min':>9}{'max':>9}")
print("-" * 48)
for name, vals in (("allocating", alloc), ("out=", pre)):
    print(f"{name:<14}{statistics.median(vals):>16.2f}{min(vals):>9.2f}{max(vals):>9.2f}")
print("-" * 48)
gain = 1 - statistics.median(pre) / statistics.median(alloc)
wins = sum(p < a for a, p in pairs)
print(f"out= saves {gain:.1%} of the dispatch cost of a call (cheaper in {wins} of {ROUNDS} rounds)")
