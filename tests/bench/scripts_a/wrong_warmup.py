# lies: warmup
"""GELU on a BERT-sized activation: median of 30 calls."""

import time
import statistics
import torch
import torch_npu

x = torch.randn(512, 768).npu()
torch.npu.synchronize()
times = []
for _ in range(3):
    t0 = time.perf_counter()
    for _ in range(50):
        torch.nn.functional.gelu(x)
    torch.npu.synchronize()
    times.append((time.perf_counter() - t0) / 50 * 1e6)
print(f"gelu 512x768: median {statistics.median(times):.1f} us, {min(times):.1f} to {max(times):.1f}")
