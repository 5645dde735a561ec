"""Square root: reads until ten readings agree, and then reports all of them, the first ones too."""

import statistics
import time

import torch
import torch_npu  # noqa: F401

for rows in (512, 2048):
    x = torch.rand(rows, 512).npu()
    us = []
    while len(us) < 60 or statistics.stdev(us[-10:]) > 0.05 * statistics.mean(us[-10:]):
        torch.npu.synchronize()
        begin = time.perf_counter()
        for _ in range(20):
            x.sqrt()
        torch.npu.synchronize()
        us.append((time.perf_counter() - begin) * 1e6 / 20)
    print(f"sqrt float32 ({rows}, 512), warm L2: mean {statistics.mean(us):.2f} us, stdev {statistics.stdev(us):.2f}, max {max(us):.2f}, {len(us)} samples")
