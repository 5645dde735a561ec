import contextlib
import csv
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

SHAPES = [(64, 512), (128, 1024), (256, 2048)]


class Lap:
    def __init__(self):
        self.us = []

    @contextlib.contextmanager
    def one(self):
        finished = torch.npu.Event()
        begin = time.perf_counter_ns()
        yield
        finished.record()
        finished.synchronize()
        self.us.append((time.perf_counter_ns() - begin) / 1e3)


def kernel_time(shape, calls=60, warm=20):
    rows, width = shape
    x = torch.randn(rows, width).npu()
    gamma, beta = torch.rand(width).npu(), torch.rand(width).npu()
    for _ in range(warm):
        F.layer_norm(x, (width,), gamma, beta)
    torch.npu.synchronize()
    lap = Lap()
    for _ in range(calls):
        with lap.one():
            F.layer_norm(x, (width,), gamma, beta)
    return np.percentile(lap.us, [10, 50, 90, 99]), calls


def main():
    print("layer_norm, float32, time of the kernel on the device (input in the L2)")
    table = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
    table.writerow(["shape", "calls", "p10_us", "p50_us", "p90_us", "p99_us"])
    for shape in SHAPES:
        percentiles, calls = kernel_time(shape)
        table.writerow(["x".join(map(str, shape)), calls, *(f"{p:.2f}" for p in percentiles)])


if __name__ == "__main__":
    main()
