"""Fused against spelled-out layer normalisation, shown as two histograms. Every sample lands in a bar."""
import math
import random
import time

import torch
import torch_npu
import torch.nn.functional as F

ROWS, WIDTH, ROUNDS = 256, 768, 150
torch.manual_seed(11)
random.seed(11)
x = torch.randn(ROWS, WIDTH, device="npu")
g, b = torch.randn(WIDTH, device="npu"), torch.randn(WIDTH, device="npu")


def fused():
    return F.layer_norm(x, (WIDTH,), g, b, 1e-5)


def spelled_out():
    m = x.mean(-1, keepdim=True)
    c = x - m
    return c * torch.rsqrt((c * c).mean(-1, keepdim=True) + 1e-5) * g + b


def one(f):
    torch.npu.synchronize()                 # idle device before the clock starts
    t = time.perf_counter()
    f()
    torch.npu.synchronize()
    return (time.perf_counter() - t) * 1e6


def bars(samples, low, high, n=10):
    step = (high - low) / n or 1.0
    counts = [0] * n
    for s in samples:
        counts[min(n - 1, int((s - low) / step))] += 1
    for i, c in enumerate(counts):
        print(f"   {low + i * step:10.1f} us | {'#' * math.ceil(40 * c / len(samples)):40s} {c}")


exact = F.layer_norm(x.cpu().double(), (WIDTH,), g.cpu().double(), b.cpu().double(), 1e-5)
candidates = {"fused": fused, "spelled_out": spelled_out}
for name, f in candidates.items():
    err = (f().cpu().double() - exact).abs().max().item()
    assert err < 1e-4, name
    print(f"{name:12s} largest deviation from a float64 layer_norm on the host: {err:.1e}")
for _ in range(10):                          # discarded on purpose: compilation and first launches
    fused(), spelled_out()

got = {name: [] for name in candidates}
for _ in range(ROUNDS):
    for name in random.sample(list(candidates), 2):      # a coin decides who goes first
        got[name].append(one(candidates[name]))

print(f"\n{ROUNDS} calls each, interleaved in random order; a sample runs from the call to the end of the wait for it.")
print(f"The same {ROWS}x{WIDTH} float32 input is used throughout, i.e. it sits in the L2; 10 warm-up calls each not shown.")
middle = {}
for name, s in got.items():
    o = sorted(s)
    middle[name] = o[len(o) // 2]
    print(f"\n{name}: median {middle[name]:.1f} us, quartiles {o[len(o) // 4]:.1f} .. {o[3 * len(o) // 4]:.1f}, extremes {o[0]:.1f} .. {o[-1]:.1f}")
    bars(s, o[0], o[-1])
print(f"\nAt this one shape the medians stand as {middle['spelled_out'] / middle['fused']:.2f} (spelled out) to 1 (fused). Other shapes: not tried.")
