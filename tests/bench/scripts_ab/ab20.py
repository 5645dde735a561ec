"""Forward pass of the ranking MLP on the device."""
import itertools
import time
from typing import Iterator

import numpy as np
import torch
import torch_npu
from torch import nn

torch.set_num_threads(1)

CALLS, SAMPLES = 8, 20


class Source:
    """Goes round a few batches of features, ready in pinned memory."""

    def __init__(self, rows: int, features: int, distinct: int = 4):
        batches = [torch.randn(rows, features).pin_memory() for _ in range(distinct)]
        self.cycle: Iterator[torch.Tensor] = itertools.cycle(batches)

    def __next__(self) -> torch.Tensor:
        return next(self.cycle).to("npu", non_blocking=True)


class Mlp(nn.Module):
    def __init__(self, features: int, hidden: int = 64):
        super().__init__()
        self.stack = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.stack(x).sigmoid()


@torch.inference_mode()
def forward_us(rows: int, features: int) -> np.ndarray:
    net, source = Mlp(features).npu().eval(), Source(rows, features)
    for _ in range(30):
        net(next(source))
    torch.npu.synchronize()
    samples = []
    for _ in range(SAMPLES):
        begin = time.perf_counter()
        for _ in range(CALLS):
            net(next(source))
        torch.npu.synchronize()
        samples.append(1e6 * (time.perf_counter() - begin) / CALLS)
    return np.array(samples)


def main():
    torch.manual_seed(8)
    print(f"forward pass of Mlp, float32, us a call ({CALLS} calls a sample, one wait behind them)")
    for rows, features in ((128, 256), (512, 256), (512, 512)):
        us = forward_us(rows, features)
        print(f"  ({rows}, {features}): median {np.median(us):7.1f}   p10 {np.percentile(us, 10):7.1f}   "
              f"p90 {np.percentile(us, 90):7.1f}   n={len(us)}")


if __name__ == "__main__":
    main()
