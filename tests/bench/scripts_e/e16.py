"""Repeats until the mean is known to 2 % (or 80 batches are done), then says how well it is known."""
import math

import numpy as np
import torch
import torch_npu


def batch_us(function, calls):
    start = torch.npu.Event(enable_timing=True)
    stop = torch.npu.Event(enable_timing=True)
    start.record()
    for _ in range(calls):
        function()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3 / calls


def adaptive(function, calls=20, aim=0.02, least=12, most=80):
    for _ in range(2):
        batch_us(function, calls)  # warm-up, thrown away
    data = []
    while len(data) < most:
        data.append(batch_us(function, calls))
        if len(data) >= least:
            half = 1.96 * np.std(data, ddof=1) / math.sqrt(len(data))
            if half < aim * np.mean(data):
                break
    half = 1.96 * np.std(data, ddof=1) / math.sqrt(len(data))
    return np.mean(data), half, np.median(data), len(data)


print(f"{'case':<28}{'mean':>9}{'+-':>8}{'median':>9}  batches of 20 calls, warm L2, us a call")
for n in (128, 512, 2048):
    x = torch.ones(64, n, device="npu")
    for name, function in {
        "sort": lambda: torch.sort(x, dim=1),
        "topk 8": lambda: torch.topk(x, 8, dim=1),
    }.items():
        mean, half, median, count = adaptive(function)
        print(f"{name + f' 64x{n}':<28}{mean:9.2f}{half:8.2f}{median:9.2f}  {count}")
