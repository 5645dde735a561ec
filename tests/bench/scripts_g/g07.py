"""STREAM on the NPU: how much of the HBM do we get?"""

import numpy as np
import torch
import torch_npu  # noqa: F401

PEAK = 1600e9  # bytes a second, data sheet
SAMPLES = 120


def scale(a, b, c):
    torch.mul(a, 3.0, out=c)


def add(a, b, c):
    torch.add(a, b, out=c)


KERNELS = {"scale": (scale, 2), "add": (add, 3)}


def stream(function, arrays):
    for _ in range(15):
        function(*arrays)
    torch.npu.synchronize()
    starts = [torch.npu.Event(enable_timing=True) for _ in range(SAMPLES)]
    stops = [torch.npu.Event(enable_timing=True) for _ in range(SAMPLES)]
    for start, stop in zip(starts, stops, strict=True):
        start.record()
        function(*arrays)
        stop.record()
    torch.npu.synchronize()
    return np.array([start.elapsed_time(stop) for start, stop in zip(starts, stops, strict=True)]) * 1e-3


print(f"HBM bandwidth, {SAMPLES} samples each: median [P5, P95] GB/s, share of the peak")
for elements in (1 << 21, 1 << 22):
    arrays = [torch.rand(elements).npu() for _ in range(3)]
    for name, (function, streams) in KERNELS.items():
        rate = streams * 4 * elements / stream(function, arrays)
        low, mid, high = np.percentile(rate, [5, 50, 95]) / 1e9
        print(f"{name:6} float32[{elements}]  {mid:7.0f} [{low:.0f}, {high:.0f}]  {mid * 1e9 / PEAK:.0%} of HBM peak")
