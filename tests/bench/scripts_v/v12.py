"""Device time of the row-wise kernels used by the decoder."""
import random
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu


class KernelClock:
    """Device time per kernel, averaged over a run of launches."""

    def __init__(self, launches=20, runs=15):
        self.launches, self.runs = launches, runs
        self.done = torch.npu.Event()

    def run(self, fn):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        for _ in range(self.launches):
            fn()
            self.done.record()
            self.done.synchronize()
        return (time.perf_counter() - t0) * 1e6 / self.launches

    def measure(self, kernels):
        for fn in kernels.values():
            for _ in range(3):
                self.run(fn)
        us = {name: [] for name in kernels}
        for _ in range(self.runs):
            for name in random.sample(list(kernels), len(kernels)):
                us[name].append(self.run(kernels[name]))
        return {name: np.percentile(v, [10, 50, 90]) for name, v in us.items()}


@torch.no_grad()
def main():
    clock = KernelClock()
    print(f"{'rows x cols':>14s} {'kernel':>12s} {'device us':>10s} {'p10':>9s} {'p90':>9s}")
    for rows, cols in [(8, 512), (64, 512), (64, 2048)]:
        x = torch.randn(rows, cols, device="npu")
        g, b = torch.ones(cols, device="npu"), torch.zeros(cols, device="npu")
        kernels = {
            "softmax": lambda: torch.softmax(x, dim=-1),
            "layer_norm": lambda: F.layer_norm(x, (cols,), g, b),
            "gelu": lambda: F.gelu(x),
            "silu": lambda: F.silu(x),
        }
        for name, (p10, p50, p90) in clock.measure(kernels).items():
            print(f"{f'{rows} x {cols}':>14s} {name:>12s} {p50:10.1f} {p10:9.1f} {p90:9.1f}")
    print(f"device time per kernel, fp32, warm inputs, {clock.runs} runs of {clock.launches} launches")


if __name__ == "__main__":
    main()
