"""Does torch.compile pay for the residual MLP stack? Median of blocks, both checked equal."""
import argparse
import time
from dataclasses import dataclass

import labkit  # noqa: F401
import numpy as np
import torch
from torch import nn


class ResMLP(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU()) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


@dataclass
class Result:
    name: str
    us: np.ndarray

    def __str__(self):
        lo, mid, hi = np.percentile(self.us, [10, 50, 90])
        return f"{self.name:9s} p50 {mid:8.1f} us  p10 {lo:8.1f}  p90 {hi:8.1f}  (n={self.us.size})"


def bench(name, fn, inputs, blocks):
    for x in inputs * 5:
        fn(x)
    us = []
    for _ in range(blocks):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        for x in inputs:
            fn(x)
        torch.npu.synchronize()
        us.append((time.perf_counter() - t0) / len(inputs) * 1e6)
    return Result(name, np.array(us))


@torch.inference_mode()
def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--dim", type=int, default=64)
    ap.add_argument("--depth", type=int, default=2)
    ap.add_argument("--blocks", type=int, default=20)
    args = ap.parse_args()
    torch.manual_seed(0)
    model = ResMLP(args.dim, args.depth).npu().eval()
    fast = torch.compile(model, dynamic=False)
    for rows in (16, 64):
        inputs = [torch.randn(rows, args.dim, device="npu") for _ in range(4)]
        for x in inputs:
            torch.testing.assert_close(fast(x), model(x), rtol=1e-3, atol=1e-4)
        print(f"rows={rows} dim={args.dim} depth={args.depth} float32, 4 inputs in turn, L2 warm")
        eager = bench("eager", model, inputs, args.blocks)
        compiled = bench("compiled", fast, inputs, args.blocks)
        print(eager, compiled, sep="\n")
        print(f"speed-up {np.median(eager.us) / np.median(compiled.us):.2f}x")


if __name__ == "__main__":
    main()
