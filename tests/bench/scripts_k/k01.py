"""Sigmoid: the first readings are thrown away by the caller, the rest goes into an array made beforehand."""

import time

import numpy as np
import torch
import torch_npu  # noqa: F401


def microseconds(x):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(20):
        torch.sigmoid(x)
    torch.npu.synchronize()
    return (time.perf_counter() - begin) * 1e6 / 20


for side in (256, 1024):
    x = torch.rand(side, side).npu()
    for _ in range(3):
        microseconds(x)
    us = np.empty(30)
    for i in range(len(us)):
        us[i] = microseconds(x)
    low, middle, high = np.percentile(us, [10, 50, 90])
    print(f"sigmoid float32 ({side}, {side}), warm L2: {middle:.2f} us (P10 {low:.2f}, P90 {high:.2f}), max {us.max():.2f}")
