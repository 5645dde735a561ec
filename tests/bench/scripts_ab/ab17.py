"""Token throughput of the compiled encoder on traffic of mixed lengths.

Lengths are rounded up to one of two buckets; each bucket is compiled before the clock starts, and we check that
nothing was compiled behind it. The traffic of a window is on the device before its clock starts. Padding does
not count as a token.
"""
import time

import numpy as np
import torch
import torch_npu
from torch import nn
from torch._dynamo.utils import counters

torch.set_num_threads(1)

BUCKETS = (32, 64)
STEPS, WINDOWS = 12, 8


class Encoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(500, width)
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, ids, real):
        x = self.embed(ids)
        x = x + self.second(torch.nn.functional.gelu(self.first(x)))
        return (x * real.unsqueeze(-1)).sum(1) / real.sum(1, keepdim=True)


def request(rng, batch=2):
    lengths = rng.integers(5, 65, batch)
    bucket = next(b for b in BUCKETS if b >= lengths.max())
    ids = torch.from_numpy(rng.integers(0, 500, (batch, bucket)))
    real = (torch.arange(bucket) < torch.from_numpy(lengths)[:, None]).float()
    return ids.npu(), real.npu(), int(lengths.sum())


@torch.no_grad()
def main():
    rng = np.random.default_rng(4)
    model = torch.compile(Encoder().npu().eval(), dynamic=False)
    for bucket in BUCKETS:
        for _ in range(5):
            model(torch.zeros(2, bucket, dtype=torch.long).npu(), torch.ones(2, bucket).npu())
    torch.npu.synchronize()
    compiled = counters["stats"]["unique_graphs"]

    rates = []
    for _ in range(WINDOWS):
        traffic = [request(rng) for _ in range(STEPS)]
        torch.npu.synchronize()
        begin = time.perf_counter()
        for ids, real, _ in traffic:
            model(ids, real)
        torch.npu.synchronize()
        seconds = time.perf_counter() - begin
        rates.append(sum(tokens for *_, tokens in traffic) / seconds)
    assert counters["stats"]["unique_graphs"] == compiled, "something was compiled inside a window"
    low, mid, high = np.percentile(rates, (10, 50, 90))
    print(f"Encoder(32), batch 2, lengths 5..64 in buckets {BUCKETS}: {mid:,.0f} real tokens/s "
          f"(p10 {low:,.0f}, p90 {high:,.0f}, n={len(rates)} windows of {STEPS} steps, other traffic in each)")


main()
