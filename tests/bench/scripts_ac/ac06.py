"""Batches of ragged length through a compiled pooling head: one graph for all lengths."""
import random

import numpy as np
import torch
import torch._dynamo
import torch_npu  # noqa: F401
from torch._dynamo.utils import counters

WIDTH = 96
LENGTHS = (17, 33, 48, 65, 90, 120)
PER_LENGTH = 12
INNER = 10


@torch.compile(backend="aot_eager", dynamic=True)
def pool(x, gate):
    weight = torch.sigmoid(x @ gate)
    return (x * weight).sum(dim=0) / weight.sum(dim=0)


def sample(x, gate):
    start, stop = (torch.npu.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(INNER):
        pool(x, gate)
    stop.record()
    return start, stop


def main():
    torch.manual_seed(8)
    gate = torch.randn(WIDTH, WIDTH, device="npu")
    inputs = {n: torch.randn(n, WIDTH, device="npu") for n in LENGTHS}
    for x in inputs.values():
        for _ in range(3):
            pool(x, gate)
    torch.npu.synchronize()
    graphs = counters["stats"]["unique_graphs"]

    plan = [n for n in LENGTHS for _ in range(PER_LENGTH)]
    random.Random(40).shuffle(plan)
    marks = [(n, *sample(inputs[n], gate)) for n in plan]
    torch.npu.synchronize()
    if counters["stats"]["unique_graphs"] != graphs:
        raise SystemExit("a new graph was made in between")

    by_length = {n: [] for n in LENGTHS}
    for n, start, stop in marks:
        by_length[n].append(start.elapsed_time(stop) * 1e3 / INNER)
    print(f"pool, compiled with dynamic=True, {graphs} graph(s), back-to-back calls, us a call on the stream")
    for n, us in by_length.items():
        us = np.array(us)
        print(f"  length {n:4d}: median {np.median(us):7.2f}  std {us.std(ddof=1):5.2f}  "
              f"[{us.min():.2f}, {us.max():.2f}]  n={us.size}")


if __name__ == "__main__":
    main()
