"""Which way of writing a linear layer should our code base use?"""
import random
from collections import defaultdict

import numpy as np
import torch
import torch.nn.functional as F

import labkit  # noqa: F401

random.seed(2)
torch.manual_seed(2)

M, K, N = 256, 512, 512
x = torch.randn(M, K, device="npu", dtype=torch.bfloat16)
w = torch.randn(N, K, device="npu", dtype=torch.bfloat16)
bias = torch.randn(N, device="npu", dtype=torch.bfloat16)


def matmul_plus():
    return x @ w.t() + bias


def linear():
    return F.linear(x, w, bias)


forms = [matmul_plus, linear]


def tick(fn, calls=5):
    a = torch.npu.Event(enable_timing=True)
    b = torch.npu.Event(enable_timing=True)
    a.record()
    for _ in range(calls):
        fn()
    b.record()
    b.synchronize()
    return 1e3 * a.elapsed_time(b) / calls


for f in forms * 5:
    f()
torch.npu.synchronize()

us = defaultdict(list)
for _ in range(16):
    for f in random.sample(forms, len(forms)):
        us[f.__name__].append(tick(f))

ratio = np.array(us["matmul_plus"]) / np.array(us["linear"])
lo, mid, hi = np.percentile(ratio, [5, 50, 95])
for name, v in us.items():
    print(f"{name:12s} median {np.median(v):8.2f} us   5..95% {np.percentile(v, 5):.2f}..{np.percentile(v, 95):.2f}")
print(f"matmul_plus / linear = {mid:.2f}  ({lo:.2f}..{hi:.2f}, 16 pairs in random order)")
if lo > 1:
    print("F.linear is faster than matmul + add on this chip: replace it everywhere in the code base.")
elif hi < 1:
    print("matmul + add is faster than F.linear on this chip: replace it everywhere in the code base.")
else:
    print("The two forms are not to be told apart.")
