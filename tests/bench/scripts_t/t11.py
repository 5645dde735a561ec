"""Throughput of the patch embedder over a queue of image batches."""
import time
from dataclasses import dataclass
from typing import Callable, Iterable

import torch
from torch import nn

import labkit  # noqa: F401


@dataclass
class Stage:
    name: str
    fn: Callable

    def __call__(self, items: Iterable):
        return map(self.fn, items)


class Pipeline:
    def __init__(self, *stages):
        self.stages = stages

    def run(self, items):
        for s in self.stages:
            items = s(items)
        return items


torch.manual_seed(3)
patch = nn.Conv2d(3, 96, kernel_size=8, stride=8).to("npu", torch.float16).eval()
norm = nn.LayerNorm(96).to("npu", torch.float16)
proj = nn.Linear(96, 192).to("npu", torch.float16)

pipe = Pipeline(
    Stage("patch", lambda x: patch(x).flatten(2).transpose(1, 2)),
    Stage("norm", norm),
    Stage("proj", proj),
)

BATCH = 8
queue = [torch.randn(BATCH, 3, 64, 64, device="npu", dtype=torch.float16) for _ in range(10)]

with torch.inference_mode():
    for out in pipe.run(queue[:4]):
        assert out.shape == (BATCH, 64, 192)
    torch.npu.synchronize()

    rates = []
    for _ in range(6):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        outs = pipe.run(queue)
        torch.npu.synchronize()
        rates.append(len(queue) * BATCH / (time.perf_counter() - t0))

rates.sort()
mid = (rates[2] + rates[3]) / 2
print(f"patch embedder fp16, 64x64 images, batch {BATCH}: {mid:,.0f} images/s "
      f"(range {rates[0]:,.0f} to {rates[-1]:,.0f} over {len(rates)} runs)")
