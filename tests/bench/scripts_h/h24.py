"""Copies from host to device, pageable and pinned, in turn: transfer bandwidth by size."""
import time
import numpy as np
import torch
import torch_npu

def lap(source, target):
    torch.npu.synchronize()
    t = time.perf_counter()
    target.copy_(source, non_blocking=True)
    torch.npu.synchronize()
    return time.perf_counter() - t

for mb in (1, 8, 32):
    n = mb * 2**18
    target = torch.empty(n).npu()
    sources = {"pageable": torch.ones(n), "pinned": torch.ones(n).pin_memory()}
    got = {k: [] for k in sources}
    for i in range(22):
        for k in sorted(sources, reverse=i % 2 == 1):
            t = lap(sources[k], target)
            if i > 1:
                got[k].append(n * 4 / t / 1e9)
    for k, v in got.items():
        print(f"{mb:3d} MiB {k:9} P10 {np.percentile(v, 10):6.1f}  P50 {np.median(v):6.1f}  P90 {np.percentile(v, 90):6.1f} GB/s")
