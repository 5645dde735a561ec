"""Latency of a single reduction that the host waits for, such as a check for overflow in each step.

The wait in each sample is wanted: the caller cannot go on without the result, so its wake-up belongs to the
latency. The same loop with one wait behind it stands beside it, and the two must not be mixed up.
"""
import time

import numpy as np
import torch
import torch_npu  # noqa: F401

SHAPES = ((1024,), (256, 1024), (1024, 2048))
SAMPLES = 60


def latencies(x):
    us = []
    for _ in range(SAMPLES):
        torch.npu.synchronize()
        begin = time.perf_counter()
        torch.amax(x)
        torch.npu.synchronize()
        us.append((time.perf_counter() - begin) * 1e6)
    return us


def back_to_back(x, rounds=12, calls=20):
    us = []
    for _ in range(rounds):
        torch.npu.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            torch.amax(x)
        torch.npu.synchronize()
        us.append((time.perf_counter() - begin) * 1e6 / calls)
    return us


def line(name, us):
    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    return f"  {name:36} P10 {p10:6.1f}  P50 {p50:6.1f}  P90 {p90:6.1f}  max {max(us):6.1f} us  n={len(us)}"


torch.manual_seed(0)
for shape in SHAPES:
    host = torch.rand(shape)
    x = host.npu()
    assert torch.amax(x).cpu() == host.amax()
    for _ in range(10):
        torch.amax(x)
    torch.npu.synchronize()
    print(f"amax of {' x '.join(map(str, shape))} float32, warm L2")
    print(line("latency, a wait in each", latencies(x)))
    print(line("back to back, one wait for 20 calls", back_to_back(x)))
print("use the first line for a step that needs the value at once, the second for calls that nobody waits for")
