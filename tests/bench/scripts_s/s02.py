"""Forward time of the encoder block used in our ablations."""
import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

import labkit  # noqa: F401
import torch
from torch import nn


@dataclass
class Section:
    name: str
    samples: list = field(default_factory=list)

    @contextmanager
    def record(self, calls):
        torch.npu.synchronize()
        start = time.perf_counter()
        yield
        self.samples.append((time.perf_counter() - start) / calls)

    def report(self):
        q = statistics.quantiles(self.samples, n=20)
        print(f"{self.name}: forward median {statistics.median(self.samples) * 1e6:.1f} us, "
              f"p5 {q[0] * 1e6:.1f}, p95 {q[-1] * 1e6:.1f} ({len(self.samples)} samples)")


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


@torch.inference_mode()
def main(dim=128, heads=4, repeats=40, calls=8):
    torch.manual_seed(1)
    block = Block(dim, heads).npu().eval()
    for batch, length in [(1, 64), (2, 64), (2, 128)]:
        inputs = [torch.randn(batch, length, dim, device="npu") for _ in range(calls)]
        for x in inputs * 3:
            block(x)
        section = Section(f"batch={batch} length={length} dim={dim} fp32, weights and inputs warm")
        for _ in range(repeats):
            with section.record(calls):
                for x in inputs:
                    block(x)
        section.report()


main()
