"""Embedding lookup: does it matter which rows are asked for, once table and ids are on the device?"""
import logging
import statistics

import torch
import torch_npu
import torch.nn.functional as F

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("embedding")

VOCAB, DIM, IDS = 4096, 128, 1024
BATCHES, ROUNDS = 8, 12


def id_batches(kind):
    g = torch.Generator().manual_seed(17)
    if kind == "uniform":
        make = lambda: torch.randint(0, VOCAB, (IDS,), generator=g)
    elif kind == "skewed":
        make = lambda: (torch.rand(IDS, generator=g) ** 6 * VOCAB).long()
    else:
        make = lambda: torch.arange(IDS)
    return [make().npu() for _ in range(BATCHES)]


def us_per_lookup(table, batches):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    begin.record()
    for ids in batches:
        F.embedding(ids, table)
    end.record()
    torch.npu.synchronize()
    return begin.elapsed_time(end) * 1e3 / len(batches)


def main():
    torch.manual_seed(0)
    table = torch.randn(VOCAB, DIM, device="npu")
    kinds = {kind: id_batches(kind) for kind in ("uniform", "skewed", "sorted")}
    samples = {kind: [] for kind in kinds}
    for batches in kinds.values():  # warm-up, every batch once
        us_per_lookup(table, batches)
    order = list(kinds)
    for r in range(ROUNDS):
        order = order[1:] + order[:1]
        for kind in order:
            samples[kind].append(us_per_lookup(table, kinds[kind]))

    size = 2 * IDS * DIM * table.element_size()
    log.info("table %d x %d fp32 (%.0f MiB, resident in L2 after the warm-up), %d ids a lookup", VOCAB, DIM,
             VOCAB * DIM * 4 / 2**20, IDS)
    for kind, us in samples.items():
        mid = statistics.median(us)
        log.info("%-8s %6.2f us median of %d (%.2f to %.2f), %.1f GB/s through the L2 (rows read and written)", kind,
                 mid, len(us), min(us), max(us), size / mid / 1e3)
    log.info("launch cost is inside; this says nothing about tables larger than the L2")


if __name__ == "__main__":
    main()
