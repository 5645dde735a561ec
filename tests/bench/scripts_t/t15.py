"""Bag lookup: nn.EmbeddingBag or index_select and a sum?"""
import logging
import time

import numpy as np
import torch
from torch import nn

import labkit  # noqa: F401

logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(message)s")
log = logging.getLogger("bags")

ROWS, DIM = 50_000, 64


class LibraryBag:
    title = "EmbeddingBag"

    def __init__(self, table):
        self.mod = nn.EmbeddingBag.from_pretrained(table.float(), mode="sum").to("npu")

    def __call__(self, ids):
        return self.mod(ids)


class GatherBag:
    title = "gather+sum"

    def __init__(self, table):
        self.table = table.to("npu")

    def __call__(self, ids):
        rows = self.table.index_select(0, ids.reshape(-1))
        return rows.view(*ids.shape, DIM).sum(1)


def one_window(bag, ids, calls=5):
    torch.npu.synchronize()
    t = time.perf_counter()
    for _ in range(calls):
        bag(ids)
    torch.npu.synchronize()
    return (time.perf_counter() - t) / calls * 1e6


@torch.inference_mode()
def main():
    gen = torch.Generator().manual_seed(5)
    table = torch.randn(ROWS, DIM, generator=gen).half()
    bags = [LibraryBag(table), GatherBag(table)]
    order = np.random.default_rng(5)
    for batch, hot in ((128, 20), (512, 20), (512, 50)):
        ids = torch.randint(0, ROWS, (batch, hot), generator=gen).to("npu")
        for bag in bags:
            for _ in range(3):
                bag(ids)
        got = {b.title: [] for b in bags}
        for _ in range(10):
            for i in order.permutation(len(bags)):
                got[bags[i].title].append(one_window(bags[i], ids))
        ratio = np.divide(got["EmbeddingBag"], got["gather+sum"])
        lo, hi = np.percentile(ratio, [5, 95])
        log.info("batch %d, %d ids per bag: EmbeddingBag %.1f us, gather+sum %.1f us", batch, hot,
                 np.median(got["EmbeddingBag"]), np.median(got["gather+sum"]))
        log.info("  ratio %.2f (5..95%%: %.2f..%.2f) %s", np.median(ratio), lo, hi,
                 "gather+sum wins" if lo > 1 else "EmbeddingBag wins" if hi < 1 else "undecided")


main()
