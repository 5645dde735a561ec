"""Forward time of the click ranker at the batch sizes we serve."""
import argparse
import statistics
import time

import numpy as np
import torch
from torch import nn

import labkit  # noqa: F401

FIELDS, DENSE = 12, 64


class Ranker(nn.Module):
    def __init__(self, vocab=20000, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.tower = nn.Sequential(
            nn.Linear(FIELDS * dim + DENSE, 512), nn.ReLU(),
            nn.Linear(512, 256), nn.ReLU(),
            nn.Linear(256, 1),
        )

    def forward(self, ids, dense):
        e = self.emb(ids).flatten(1)
        return self.tower(torch.cat([e, dense], dim=1)).squeeze(1)


class RowStore:
    def __init__(self, n=4096, seed=0):
        rng = np.random.default_rng(seed)
        self.rows = [
            {"ids": rng.integers(0, 20000, FIELDS), "dense": rng.standard_normal(DENSE, dtype=np.float32)}
            for _ in range(n)
        ]

    def batch(self, start, size):
        part = [self.rows[(start + i) % len(self.rows)] for i in range(size)]
        ids = torch.from_numpy(np.stack([r["ids"] for r in part]))
        dense = torch.from_numpy(np.stack([r["dense"] for r in part]))
        return ids.to("npu"), dense.to("npu")


def forward_ms(model, store, size, steps):
    with torch.inference_mode():
        for i in range(5):
            model(*store.batch(i * size, size))
        torch.npu.synchronize()
        out = []
        for _ in range(5):
            t0 = time.perf_counter()
            for i in range(steps):
                model(*store.batch(i * size, size))
            torch.npu.synchronize()
            out.append((time.perf_counter() - t0) / steps * 1e3)
    return out


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=8)
    ap.add_argument("--batch", type=int, nargs="+", default=[64, 256, 1024])
    a = ap.parse_args()
    model, store = Ranker().to("npu").eval(), RowStore()
    print("model forward on the NPU, fp32")
    for b in a.batch:
        v = forward_ms(model, store, b, a.steps)
        print(f"  batch {b:5d}: {statistics.median(v):8.3f} ms  (min {min(v):.3f}, max {max(v):.3f}, {len(v)} runs)")


if __name__ == "__main__":
    main()
