# right
# flushes the L2 between samples, by writing a large buffer
import torch
import torch_npu
import numpy as np

flush = torch.empty(256 * 2**20, dtype=torch.int8, device="npu")
a = torch.rand(1 << 21).npu()
b = torch.empty_like(a)
for _ in range(4):
    flush.zero_()
    b.copy_(a)
ev = []
for _ in range(8):
    flush.zero_()
    s, e = (torch.npu.Event(enable_timing=True) for _ in range(2))
    s.record()
    b.copy_(a)
    e.record()
    ev.append((s, e))
torch.npu.synchronize()
us = np.array([s.elapsed_time(e) for s, e in ev]) * 1e3
print(
    f"copy of {a.numel()} floats, L2 flushed: {np.median(us):.1f} us, {us.min():.1f} to {us.max():.1f}, "
    f"{8 * a.numel() / np.median(us) / 1e3:.0f} GB/s"
)
