"""Latency percentiles of an embedding + pooling service, batch 1 request at a time."""
import argparse
import time
from dataclasses import dataclass, field

import labkit  # noqa: F401
import numpy as np
import torch
from torch import nn


@dataclass
class LatencyStats:
    values: list = field(default_factory=list)

    def add(self, seconds):
        self.values.append(seconds * 1e3)

    def _array(self):
        v = np.asarray(self.values)
        return v[v < 1.5 * np.median(v)]

    def summary(self):
        v = self._array()
        return {
            "mean": v.mean(),
            "p50": np.percentile(v, 50),
            "p95": np.percentile(v, 95),
            "p99": np.percentile(v, 99),
            "max": v.max(),
        }


class Embedder(nn.Module):
    def __init__(self, vocab=32000, dim=768):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, ids):
        return self.proj(self.emb(ids).mean(1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--requests", type=int, default=80)
    ap.add_argument("--warmup", type=int, default=10)
    ap.add_argument("--seq", type=int, default=256)
    args = ap.parse_args()

    model = Embedder().to("npu").eval()
    reqs = [torch.randint(0, 32000, (1, args.seq)).to("npu") for _ in range(8)]

    stats = LatencyStats()
    with torch.inference_mode():
        for i in range(args.warmup):
            model(reqs[i % 8])
        torch.npu.synchronize()
        for i in range(args.requests):
            ids = reqs[i % 8]
            t0 = time.perf_counter()
            model(ids)
            torch.npu.synchronize()
            stats.add(time.perf_counter() - t0)

    print(f"Request latency (ms), seq {args.seq}, inputs resident on device, {args.requests} requests")
    for k, v in stats.summary().items():
        print(f"  {k:>5}: {v:.3f}")


if __name__ == "__main__":
    main()
