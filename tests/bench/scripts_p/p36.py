"""linear: how long the warm-up took is part of the report, on a line of its own."""
import statistics
import time

import torch
import torch_npu  # noqa: F401


def lap(layer, x, calls=10):
    torch.npu.synchronize()
    t = time.perf_counter()
    for _ in range(calls):
        layer(x)
    torch.npu.synchronize()
    return (time.perf_counter() - t) / calls * 1e6


with torch.no_grad():
    for features in (512, 2048):
        layer, x = torch.nn.Linear(features, features).npu(), torch.ones(32, features).npu()
        begun, before, rounds = time.perf_counter(), float("inf"), 0
        while True:
            now = lap(layer, x)
            rounds += 1
            if abs(now - before) < 0.05 * now:
                break
            before = now
        spent = time.perf_counter() - begun
        print(f"linear {features} -> {features}, batch 32, float32: settled after {rounds} rounds, {spent * 1e3:.2f} ms")
        us = [lap(layer, x) for _ in range(30)]
        print(f"    {statistics.median(us):.2f} us (quartiles {statistics.quantiles(us, n=4)[0]:.2f}, {statistics.quantiles(us, n=4)[2]:.2f}), weights warm in L2")
