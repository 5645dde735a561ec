"""Fused softmax against the composed one, both measured by events, in alternating order."""

from itertools import cycle
from typing import NamedTuple

import numpy as np
import torch
import torch_npu  # noqa: F401


class Side(NamedTuple):
    name: str
    function: object
    x: torch.Tensor


def composed(x):
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def fused(x):
    return torch.softmax(x, -1)


def once(side):
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a.record()
    side.function(side.x)
    b.record()
    return a, b


def study(rows, cols, pairs=40):
    logits = torch.rand(rows, cols)
    sides = Side("composed", composed, logits.npu()), Side("fused", fused, logits.half().npu())
    for side in sides * 10:
        once(side)
    torch.npu.synchronize()
    events = {side.name: [] for side in sides}
    orders = cycle([sides, sides[::-1]])
    for _ in range(pairs):
        for side in next(orders):
            events[side.name].append(once(side))
    torch.npu.synchronize()
    us = {name: 1e3 * np.array([a.elapsed_time(b) for a, b in marks]) for name, marks in events.items()}
    speedup = np.percentile(us["composed"] / us["fused"], [25, 50, 75])
    for name, values in us.items():
        print(f"  {name:9} P50 {np.median(values):8.2f} us   P90 {np.percentile(values, 90):8.2f} us")
    print("  speed-up of the fused kernel: {1:.2f} x (quartiles {0:.2f} to {2:.2f})".format(*speedup))


for shape in ((1024, 1024), (512, 4096), (2048, 512)):
    print(f"softmax {shape}, same logits for both, warm L2")
    study(*shape)
