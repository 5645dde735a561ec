"""Decode attention as a memory test: one query per head against a long K/V cache which no L2 can keep."""
import statistics
from dataclasses import dataclass

import torch
import torch_npu
import torch.nn.functional as F

HEADS, LENGTH, DIM = 16, 8192, 64            # K and V: 32 MiB each in float32
CACHES, LAPS = 5, 8                          # 5 x 64 MiB = 320 MiB, visited in a ring


@dataclass(frozen=True)
class Visit:
    lap: int
    cache: int
    ms: float
    moved: int

    @property
    def gbs(self):
        return self.moved / self.ms / 1e6


def ring():
    torch.manual_seed(5)
    base = torch.randn(HEADS, LENGTH, DIM)
    for c in range(CACHES):
        k = (base.roll(c, 1)).to("npu")[None]
        v = (base.roll(-c - 1, 1) * 0.5).to("npu")[None]
        q = torch.randn(1, HEADS, 1, DIM).to("npu")
        yield q, k, v


def check(q, k, v):
    got = F.scaled_dot_product_attention(q, k, v)[:, :1].cpu().double()
    q, k, v = (t[:, :1].cpu().double() for t in (q, k, v))
    return (got - F.scaled_dot_product_attention(q, k, v)).abs().max().item()


caches = list(ring())
error = check(*caches[-1])                   # also the first launch; the last cache, so that the ring starts cold
for q, k, v in caches:                       # one unrecorded lap
    F.scaled_dot_product_attention(q, k, v)
torch.npu.synchronize()

visits = []
for lap in range(LAPS):
    for c, (q, k, v) in enumerate(caches):
        before, after = (torch.npu.Event(enable_timing=True) for _ in "ab")
        before.record()
        out = F.scaled_dot_product_attention(q, k, v)
        after.record()
        after.synchronize()
        size = sum(t.numel() * t.element_size() for t in (q, k, v, out))
        visits.append(Visit(lap, c, before.elapsed_time(after), size))

rates = sorted(v.gbs for v in visits)
quart = statistics.quantiles(rates, n=4)
worst = min(visits, key=lambda v: v.gbs)
print(f"single-query attention, {HEADS} heads x {LENGTH} keys x {DIM}, fp32; one head off float64 by at most {error:.1e}")
print(f"Before a cache comes round again {(CACHES - 1) * 64} MiB of other K/V have been read; the L2 holds 192 MB.")
print(f"Effective rate = (q + K + V + output, each once) / event interval, {len(visits)} visits after one unrecorded lap, all kept:")
print(f"  median {quart[1]:.0f} GB/s, half of the visits within {quart[0]:.0f}..{quart[2]:.0f}, range {rates[0]:.0f}..{rates[-1]:.0f}")
print(f"  slowest: lap {worst.lap}, cache {worst.cache}, {worst.ms:.4f} ms")
print("The interval holds the start of the kernels too, and intermediate scores are not counted as traffic,")
print("so take it as an effective figure of this operator, not as the peak of the HBM.")
