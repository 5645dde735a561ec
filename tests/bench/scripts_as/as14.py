"""Embedding lookups by batch size, CSV on stdout.

Columns
  ids          looked-up ids per call
  n            samples; each is CALLS calls with one wait behind them, divided by CALLS
  set_aside    samples further than 5 MAD from the median, not in mean_within_5mad_us (they are in the other columns)
  median_us    of all n
  mean_within_5mad_us  mean without those set aside
  max_us       of all n
"""
import csv
import sys
import time

import numpy as np
import torch
import torch_npu  # noqa: F401

CALLS, N = 10, 40
VOCAB, DIM = 5000, 32


def sample(emb, ids):
    t = time.perf_counter()
    for _ in range(CALLS):
        emb(ids)
    torch.npu.synchronize()
    return (time.perf_counter() - t) / CALLS * 1e6


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    emb = torch.nn.Embedding(VOCAB, DIM).npu()
    out = csv.writer(sys.stdout)
    out.writerow(["op", "vocab", "dim", "ids", "n", "set_aside", "median_us", "mean_within_5mad_us", "max_us", "note"])
    for count in (64, 256, 1024):
        ids = torch.randint(VOCAB, (count,)).npu()
        for _ in range(4):
            sample(emb, ids)
        us = np.array([sample(emb, ids) for _ in range(N)])
        mid = np.median(us)
        mad = np.median(np.abs(us - mid))
        keep = np.abs(us - mid) <= 5 * mad
        out.writerow(["embedding", VOCAB, DIM, count, N, int((~keep).sum()), f"{mid:.1f}",
                      f"{us[keep].mean():.1f}", f"{us.max():.1f}", "wall clock; same ids each call"])


if __name__ == "__main__":
    main()
