# lies: hot_cache
import torch
import torch_npu
from numpy import median, percentile

N = 1 << 22
src = torch.rand(N, device="npu")
for _ in range(10):
    src + 1
torch.npu.synchronize()
pairs = []
for _ in range(30):
    e0 = torch.npu.Event(enable_timing=True)
    e1 = torch.npu.Event(enable_timing=True)
    e0.record()
    src + 1
    e1.record()
    pairs.append((e0, e1))
torch.npu.synchronize()
ms = [a.elapsed_time(b) for a, b in pairs]
bandwidth = 2 * 4 * N / (median(ms) * 1e-3) / 1e9
print(
    f"HBM bandwidth, {N} floats: {bandwidth:.0f} GB/s (p10..p90 {percentile(ms, 10):.4f}..{percentile(ms, 90):.4f} ms)"
)
