"""Exponential: reads the clock until the last ten readings agree, and reports what comes after."""

import statistics
import time

import torch
import torch_npu  # noqa: F401


def steady(readings):
    if len(readings) < 10:
        return False
    last = readings[-10:]
    return statistics.stdev(last) < 0.1 * statistics.mean(last)


for rows in (512, 2048):
    x = torch.rand(rows, 512).npu()
    readings, settled = [], None
    while settled is None or len(readings) < settled + 40:
        torch.npu.synchronize()
        begin = time.perf_counter_ns()
        for _ in range(25):
            x.exp()
        torch.npu.synchronize()
        readings.append((time.perf_counter_ns() - begin) / 25e3)
        if settled is None and steady(readings):
            settled = len(readings)
    kept = readings[settled:]
    quarter, middle, three = statistics.quantiles(kept, n=4)
    print(f"exp float32 ({rows}, 512), input warm in L2, {len(kept)} readings after {settled} to settle")
    print(f"  median {middle:.2f} us, quartiles {quarter:.2f} and {three:.2f}, mean {statistics.mean(kept):.2f}, max {max(kept):.2f}")
