from __future__ import annotations

import time
from dataclasses import astuple, dataclass

import numpy as np
import torch
import torch_npu  # noqa: F401


@dataclass(order=True)
class Row:
    layout: str
    shape: tuple
    p50_us: float
    p95_us: float
    gib_s: float


def measure(layout, x, view):
    pool = [x.clone() for _ in range(max(4, 2**29 // (x.numel() * 4)))]  # 512 MiB in turn: nothing is left in the L2
    for y in pool[:8]:
        view(y).contiguous()
    times = []
    for start in range(0, len(pool) - 3, 4):
        part = pool[start : start + 4]
        torch.npu.synchronize()
        t = time.perf_counter()
        for y in part:
            view(y).contiguous()
        torch.npu.synchronize()
        times.append((time.perf_counter() - t) / 4)
    p50, p95 = np.percentile(times, [50, 95])
    return Row(layout, tuple(x.shape), p50 * 1e6, p95 * 1e6, 8 * x.numel() / p50 / 2**30)


rows = [measure("NCHW->NHWC", torch.ones(s, device="npu"), lambda t: t.permute(0, 2, 3, 1)) for s in ((8, 64, 64, 64), (4, 32, 128, 128))]
print("transposing copies, float32, sources from HBM (pool larger than the L2)")
for row in sorted(rows):
    print("%-12s %-18s P50 %8.1f us  P95 %8.1f us  %6.1f GiB/s" % astuple(row))
