#!/usr/bin/env python
# Device time of small vector kernels, as CSV on stdout:
#   python bench_ops.py > ops.csv
import csv
import sys
import time

import torch
import torch_npu

OPS = {
    "abs": torch.abs,
    "exp": torch.exp,
    "tanh": torch.tanh,
}
SHAPES = [(128, 128), (512, 256), (1024, 512)]


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))]


def run(op, x, warmup=15, repeat=100):
    for _ in range(warmup):
        op(x)
    torch.npu.synchronize()
    samples = []
    for _ in range(repeat):
        start = time.perf_counter()
        op(x)
        torch.npu.synchronize()
        samples.append(1e6 * (time.perf_counter() - start))
    return samples


def main():
    out = csv.writer(sys.stdout)
    out.writerow(["op", "shape", "l2", "kernel_us_p50", "kernel_us_p90", "kernel_us_p99", "n"])
    for name, op in OPS.items():
        for shape in SHAPES:
            x = torch.ones(shape).npu()
            s = run(op, x)
            row = [f"{quantile(s, q):.2f}" for q in (0.5, 0.9, 0.99)]
            out.writerow([name, "x".join(map(str, shape)), "warm", *row, len(s)])


main()
