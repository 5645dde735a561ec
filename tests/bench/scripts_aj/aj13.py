"""Ragged batches through a compiled index_select: how fast are rows gathered?"""
import time

import numpy as np
import torch
import torch._dynamo
import torch_npu

torch._dynamo.config.cache_size_limit = 128
TABLE, WIDTH = 2048, 64


@torch.compile(backend="npu", dynamic=False)
def gather(table, index):
    return table.index_select(0, index)


def ragged(count, seed):
    """Batches of indices, no two of one length."""
    chosen = np.random.default_rng(seed).permutation(np.arange(64, 1024, 8))[:count]
    for length in chosen.tolist():
        yield torch.randint(TABLE, (length,), device="npu")


def timed(table, batches):
    for index in batches:
        torch.npu.synchronize()
        t0 = time.perf_counter()
        gather(table, index)
        torch.npu.synchronize()
        yield index.numel(), (time.perf_counter() - t0) * 1e6


table = torch.randn(TABLE, WIDTH, device="npu")
batches = list(ragged(26, seed=5))
torch.testing.assert_close(gather(table, batches[0]), table.index_select(0, batches[0]))
for index in batches:
    table.index_select(0, index)
for _ in range(10):
    gather(table, batches[0])

results = list(timed(table, batches[1:]))
us = np.array([t for _, t in results])
rows = np.array([n for n, _ in results])
rate = rows / us
print(f"compiled index_select from a {TABLE} x {WIDTH} float32 table (hot in the L2), {len(us)} ragged batches of {rows.min()} to {rows.max()} rows")
print(f"serving speed, warmed up: median {np.median(us):.1f} us a batch, quartiles {np.percentile(us, 25):.1f} .. {np.percentile(us, 75):.1f}, "
      f"worst {us.max():.1f}")
print(f"rows gathered per us: median {np.median(rate):.2f}, quartiles {np.percentile(rate, 25):.2f} .. {np.percentile(rate, 75):.2f}")
