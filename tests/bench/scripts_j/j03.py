"""Row softmax over attention scores, several context lengths. Times are of the host, a wait behind each block."""

import csv
import statistics
import sys
import time

import torch
import torch_npu  # noqa: F401

BLOCK = 20
BLOCKS = 25


def blocks(fn):
    """Microseconds per call of BLOCK calls, BLOCKS times."""
    for _ in range(BLOCKS):
        begin = time.monotonic()
        for _ in range(BLOCK):
            fn()
        torch.npu.synchronize()
        yield (time.monotonic() - begin) / BLOCK * 1e6


def run(context):
    scores = torch.ones(8, 128, context).npu()
    torch.npu.synchronize()
    return list(blocks(lambda: torch.softmax(scores, dim=-1)))


out = csv.writer(sys.stdout)
out.writerow(["op", "shape", "dtype", "cache", "blocks", "calls_per_block", "mean_us", "stdev_us", "min_us", "max_us"])
for context in (256, 512, 1024):
    us = run(context)
    row = [statistics.mean(us), statistics.stdev(us), min(us), max(us)]
    out.writerow(["softmax", f"8x128x{context}", "float32", "warm L2", BLOCKS, BLOCK, *(f"{v:.2f}" for v in row)])
