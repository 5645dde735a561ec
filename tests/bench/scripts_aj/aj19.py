"""Copies from pinned host memory to the device: distribution of their times."""
import time

import numpy as np
import torch
import torch_npu

SAMPLES = 60
SIZES_KIB = (64, 512, 2048)


def transfer(elements, target):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    batch = torch.randn(elements).pin_memory()
    target.copy_(batch, non_blocking=True)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6


def histogram(us, bins=8, width=40):
    counts, edges = np.histogram(us, bins=bins)
    for count, low, high in zip(counts, edges[:-1], edges[1:]):
        bar = "#" * round(width * count / counts.max())
        print(f"    {low:9.1f} .. {high:9.1f} us |{bar:<{width}}| {count}")


print("Host to device: one copy of a pinned float32 buffer to a tensor that is already there, issue to completion.")
for kib in SIZES_KIB:
    elements = kib * 256
    target = torch.empty(elements, device="npu")
    for _ in range(8):
        transfer(elements, target)
    us = np.array([transfer(elements, target) for _ in range(SAMPLES)])
    p25, p50, p75 = np.percentile(us, [25, 50, 75])
    print(f"\n  {kib} KiB, {SAMPLES} copies, each of new data: median {p50:.1f} us, quartiles {p25:.1f} .. {p75:.1f}, "
          f"link {kib * 1024 / p50 / 1e3:.2f} GB/s at the median")
    histogram(us)
