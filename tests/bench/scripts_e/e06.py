"""How long does LayerNorm take on the NPU? Nanoseconds from perf_counter_ns, P50 and P95 over blocks (L2 warm)."""
from time import perf_counter_ns

import numpy as np
import torch
import torch_npu

BLOCK, BLOCKS = 16, 40

print("rows x width      p50 us    p95 us   (per call, blocks of 16, warm L2)")
for rows, width in [(64, 512), (256, 1024), (512, 4096)]:
    x = torch.full((rows, width), 0.5, device="npu:0")
    norm = torch.nn.LayerNorm(width).to("npu:0")
    with torch.no_grad():
        for _ in range(20):
            norm(x)
        torch.npu.synchronize()

        elapsed = np.zeros(BLOCKS)
        for b in range(BLOCKS):
            t0 = perf_counter_ns()
            for _ in range(BLOCK):
                norm(x)
            t1 = perf_counter_ns()
            elapsed[b] = (t1 - t0) / BLOCK
        torch.npu.synchronize()
    p50, p95 = np.percentile(elapsed, [50, 95]) / 1000
    print(f"{rows:5d} x {width:<8d} {p50:9.2f} {p95:9.2f}")
