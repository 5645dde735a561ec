"""What does the compiled residual block cost in serving? Mean, deviation and percentiles of one step."""

import time

import numpy as np
import torch
import torch_npu  # noqa: F401


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Serving:
    def __init__(self, width, tokens):
        self.block = Block(width).npu().eval()
        self.x = torch.rand(tokens, width).npu()
        self.label = f"float32, tokens {tokens}, width {width}"

    def warm_up(self):
        for _ in range(10):
            self.block(self.x)
        torch.npu.synchronize()

    def steps(self, rounds=24, inner=5):
        model = torch.compile(self.block, backend="npu")
        for _ in range(rounds):
            begin = time.perf_counter()
            for _ in range(inner):
                model(self.x)
            torch.npu.synchronize()
            yield (time.perf_counter() - begin) / inner * 1e6


with torch.no_grad():
    for width, tokens in ((256, 64), (512, 128)):
        serving = Serving(width, tokens)
        serving.warm_up()
        us = np.fromiter(serving.steps(), float)
        print(f"compiled block, {serving.label}, weights warm in L2")
        print(
            f"  {us.mean():.1f} +- {us.std(ddof=1):.1f} us a step; P50 {np.median(us):.1f}, P99 {np.percentile(us, 99):.1f}; {1e6 / us.mean():.0f} steps/s"
        )
