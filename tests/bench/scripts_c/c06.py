# lies: hot_cache
# "cold" latency, it says, but it is always the same weight
import torch
import torch_npu
import numpy as np

H = 2048
weight = torch.randn(H, H).half().npu()
token = torch.randn(1, H).half().npu()
cold_latency = []
for _ in range(6):
    token @ weight
for _ in range(40):
    s = torch.npu.Event(enable_timing=True)
    e = torch.npu.Event(enable_timing=True)
    s.record()
    token @ weight
    e.record()
    cold_latency.append((s, e))
torch.npu.synchronize()
cold_latency = np.array([s.elapsed_time(e) * 1e3 for s, e in cold_latency])
print(
    f"decode projection 1x{H}x{H} fp16, cold: {np.median(cold_latency):.2f} us (p90 {np.percentile(cold_latency, 90):.2f})"
)
