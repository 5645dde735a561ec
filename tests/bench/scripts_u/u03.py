"""Steady-state token throughput of a compiled encoder block on bucketed batches."""
import argparse
import time
from dataclasses import dataclass

import labkit  # noqa: F401
import torch
from torch import nn


@dataclass
class Config:
    dim: int = 512
    batch: int = 8
    buckets: tuple = (128, 192, 256, 320, 384)
    repeats: int = 3
    warmup: int = 5


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Throughput:
    def __init__(self):
        self.tokens = 0
        self.seconds = 0.0

    def __enter__(self):
        torch.npu.synchronize()
        self._t0 = time.perf_counter()
        return self

    def __exit__(self, *exc):
        torch.npu.synchronize()
        self.seconds += time.perf_counter() - self._t0

    @property
    def rate(self):
        return self.tokens / self.seconds


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batch", type=int, default=8)
    args = ap.parse_args()
    cfg = Config(batch=args.batch)

    model = Block(cfg.dim).to("npu").eval()
    step = torch.compile(model, dynamic=False)
    batches = [torch.randn(cfg.batch, s, cfg.dim, device="npu") for s in cfg.buckets]

    with torch.inference_mode():
        for _ in range(cfg.warmup):
            step(batches[0])

        meter = Throughput()
        with meter:
            for _ in range(cfg.repeats):
                for x in batches:
                    step(x)
                    meter.tokens += x.shape[0] * x.shape[1]

    print(f"buckets {cfg.buckets}, batch {cfg.batch}, warmup {cfg.warmup} steps")
    print(f"{meter.tokens} tokens in {meter.seconds:.3f} s")
    print(f"steady-state throughput: {meter.rate:,.0f} tokens/s")


if __name__ == "__main__":
    main()
