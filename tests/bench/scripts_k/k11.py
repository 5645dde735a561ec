"""Transposed or not? Both are warmed in turn; then one dict entry is sampled after the other."""

import statistics
import time

import torch
import torch_npu  # noqa: F401


def batches(way, count):
    taken = []
    for _ in range(count):
        torch.npu.synchronize()
        begin = time.perf_counter()
        for _ in range(20):
            way()
        torch.npu.synchronize()
        taken.append((time.perf_counter() - begin) / 20 * 1e6)
    return taken


for side in (512, 1024):
    x = torch.rand(side, side).npu()
    ways = {"row sums": lambda: x.sum(1), "column sums": lambda: x.sum(0) + 0}
    for _ in range(4):
        for way in ways.values():
            batches(way, 1)
    us = {name: batches(way, 30) for name, way in ways.items()}
    base = statistics.median(us["row sums"])
    print(f"float32 ({side}, {side}), warm L2")
    for name, values in us.items():
        print(f"  {name:12} median {statistics.median(values):.2f} us, stdev {statistics.stdev(values):.2f}   {statistics.median(values) / base:.2f} x")
