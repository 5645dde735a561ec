"""Embedding + pooling of the recommender, by timeit.

`timeit.repeat` runs the lookup in several series; the wait for the device is a part of the statement, once per
series of calls. Tables of three sizes, ids drawn once per table, warm caches.
"""
import timeit

import torch
import torch_npu

TABLES = ((1_000, 32), (10_000, 32), (10_000, 64))
BATCH, PER_ITEM = 64, 8
SERIES, CALLS = 11, 20


class Lookup:
    def __init__(self, rows, width):
        torch.manual_seed(19)
        self.table = torch.randn(rows, width).npu()
        self.ids = torch.randint(0, rows, (BATCH, PER_ITEM)).npu()

    @torch.no_grad()
    def __call__(self):
        for _ in range(CALLS):
            torch.nn.functional.embedding(self.ids, self.table).sum(1)
        torch.npu.synchronize()


def latency_us(lookup):
    lookup()
    lookup()
    series = timeit.repeat(lookup, number=1, repeat=SERIES)
    return min(series) / CALLS * 1e6


def main():
    print(f"sum of {PER_ITEM} embeddings, batch {BATCH}, float32, warm L2; {CALLS} calls a series")
    print("rows      width   us a batch   items a second")
    print("-" * 46)
    worst = 0.0
    for rows, width in TABLES:
        us = latency_us(Lookup(rows, width))
        worst = max(worst, us)
        print(f"{rows:<9} {width:<7} {us:10.2f}   {BATCH / us * 1e6:14,.0f}")
    print("-" * 46)
    print(f"In production a batch takes {worst:.1f} us or less with these tables.")


if __name__ == "__main__":
    main()
