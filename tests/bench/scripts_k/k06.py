"""Rounds over a dict of lambdas; the first round is timed like the others and thrown away."""

import time
from collections import defaultdict

import numpy as np
import torch
import torch_npu  # noqa: F401

ROUNDS, CALLS = 21, 16

for side in (384, 768):
    x = torch.rand(side, side).npu()
    ways = {"relu": lambda: torch.relu(x), "clamp": lambda: x.clamp(min=0), "maximum": lambda: torch.maximum(x, x * 0)}
    us = defaultdict(list)
    for number in range(ROUNDS):
        for name, way in ways.items():
            torch.npu.synchronize()
            begin = time.perf_counter()
            for _ in range(CALLS):
                way()
            torch.npu.synchronize()
            taken = time.perf_counter() - begin
            if number == 0:
                continue
            us[name].append(taken / CALLS * 1e6)
    print(f"float32 ({side}, {side}), cache warm, {ROUNDS - 1} rounds behind one that is thrown away")
    base = np.array(us["relu"])
    for name, values in us.items():
        each = np.array(values) / base
        print(f"  {name:8} median {np.median(values):.2f} us, P90 {np.percentile(values, 90):.2f}, against relu {np.median(each):.3f} (IQR {np.percentile(each, 25):.3f} to {np.percentile(each, 75):.3f})")
