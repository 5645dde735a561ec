"""Kernel time of the activation functions, float16."""
import time
from typing import Callable, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

SHAPES = ((64, 64), (256, 256), (256, 1024))


class Row(NamedTuple):
    name: str
    shape: tuple
    us: np.ndarray

    def __str__(self):
        p5, p50, p95 = np.percentile(self.us, [5, 50, 95])
        return (f"{self.name:10s} {self.shape[0]:4d}x{self.shape[1]:<4d} kernel time {p50:7.2f} us "
                f"(P5 {p5:.2f}, P95 {p95:.2f}, n={self.us.size})")


class KernelTimer:
    def __init__(self, warm: int = 20, samples: int = 100):
        self.warm, self.samples = warm, samples

    def __call__(self, kernel: Callable, x: torch.Tensor) -> np.ndarray:
        for _ in range(self.warm):
            kernel(x)
        torch.npu.synchronize()
        us = np.empty(self.samples)
        for i in range(self.samples):
            begin = time.perf_counter_ns()
            kernel(x)
            torch.npu.synchronize()
            us[i] = (time.perf_counter_ns() - begin) / 1e3
        return us


def main():
    torch.manual_seed(31)
    timer = KernelTimer()
    inputs = {shape: torch.randn(*shape, device="npu", dtype=torch.float16) for shape in SHAPES}
    for name, kernel in (("relu", torch.relu), ("silu", F.silu), ("sigmoid", torch.sigmoid)):
        for shape, x in inputs.items():
            print(Row(name, shape, timer(kernel, x)))


if __name__ == "__main__":
    main()
