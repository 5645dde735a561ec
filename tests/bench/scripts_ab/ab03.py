"""Scoring throughput of the reranker head, offline batches; features are already on the device."""
import argparse
import time

import numpy as np
import torch
import torch_npu
from torch import nn


class Reranker(nn.Module):
    def __init__(self, features=256, hidden=512):
        super().__init__()
        self.body = nn.Sequential(nn.LayerNorm(features), nn.Linear(features, hidden), nn.GELU(),
                                  nn.Linear(hidden, hidden), nn.GELU())
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(-1)


def batches(documents, size):
    whole = len(documents) // size
    for i in range(whole):
        yield documents[i * size:(i + 1) * size]


@torch.no_grad()
def score(model, documents, size):
    return [model(batch) for batch in batches(documents, size)]


def measure(model, documents, size, repeats):
    for _ in range(3):
        score(model, documents, size)
    torch.npu.synchronize()
    rates = []
    for _ in range(repeats):
        begin = time.perf_counter()
        score(model, documents, size)
        torch.npu.synchronize()
        seconds = time.perf_counter() - begin
        rates.append(len(documents) / seconds)
    return np.array(rates)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=15)
    args = parser.parse_args([])
    torch.manual_seed(1)
    model = Reranker().npu().eval()
    documents = torch.randn(args.documents, 256, device="npu")
    print(f"Reranker(256, 512), float32, {args.documents} documents a pass, resident on the device")
    for size in (96, 192, 384):
        rates = measure(model, documents, size, args.repeats)
        low, mid, high = np.percentile(rates, (10, 50, 90))
        print(f"  batch {size:>3}: {mid:10,.0f} documents/s   (p10 {low:,.0f}, p90 {high:,.0f}, n={len(rates)} passes)")


if __name__ == "__main__":
    main()
