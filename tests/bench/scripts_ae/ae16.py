"""Compiled GLU over mixed lengths: first calls apart, then steady time; proves that nothing was compiled in between."""
import random
import time

import numpy as np
import torch
from torch import nn
from torch._dynamo.utils import counters
import labkit  # noqa: F401

WIDTH, LENGTHS, ROUNDS = 192, (40, 64, 72, 128), 20


class Glu(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(WIDTH))

    def forward(self, x):
        a, b = x.chunk(2, dim=-1)
        return torch.sigmoid(a) * b * self.scale


def graphs():
    return counters["stats"]["unique_graphs"]


def main():
    torch.manual_seed(3)
    module = Glu().npu().eval()
    compiled = torch.compile(module, dynamic=True)
    inputs = {n: torch.randn(n, 2 * WIDTH).npu() for n in LENGTHS}
    draw = random.Random(77)
    with torch.inference_mode():
        first = {}
        for n, x in inputs.items():
            begin = time.perf_counter()
            compiled(x)
            torch.npu.synchronize()
            first[n] = 1e3 * (time.perf_counter() - begin)
            assert torch.allclose(compiled(x), module(x), atol=1e-4)
        built = graphs()
        plan = [list(LENGTHS) for _ in range(ROUNDS)]
        for order in plan:
            draw.shuffle(order)
        for order in plan[:8]:                          # warm, in the same mix
            for n in order:
                compiled(inputs[n])
        torch.npu.synchronize()
        us = []
        for order in plan:                               # a sample: each length twice, in drawn order, one wait
            begin = time.perf_counter()
            for n in order * 2:
                compiled(inputs[n])
            torch.npu.synchronize()
            us.append(1e6 * (time.perf_counter() - begin) / (2 * len(order)))
    if graphs() != built:
        raise SystemExit(f"{graphs() - built} graphs were compiled while the clock ran: no result")
    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    print("first call of each length, once, what this clock saw of tracing, building and loading (no statistic): "
          + ", ".join(f"{n}: {ms:.2f} ms" for n, ms in first.items()))
    print(f"steady, {ROUNDS} samples of {2 * len(LENGTHS)} calls, lengths {LENGTHS} mixed evenly, 2 x {WIDTH} wide, fp32, warm:")
    print(f"median {p50:.1f} us a call (P10 {p10:.1f}, P90 {p90:.1f}), host's issue included; graphs built meanwhile: 0 (of {built})")


if __name__ == "__main__":
    main()
