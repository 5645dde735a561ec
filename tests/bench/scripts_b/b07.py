# lies: hot_cache
"""Copy bandwidth of device memory."""

import torch
import statistics

MB = 16
n = MB * 1024 * 1024 // 2
a = torch.zeros(n, dtype=torch.bfloat16, device="cuda")
b = torch.empty_like(a)


def once():
    s, e = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    s.record()
    b.copy_(a)
    e.record()
    return s, e


for _ in range(10):
    b.copy_(a)
torch.cuda.synchronize()
got = [once() for _ in range(40)]
torch.cuda.synchronize()
times = [s.elapsed_time(e) for s, e in got]
q = statistics.quantiles(times, n=20)
gbps = lambda ms: 2 * MB / 1024 / (ms * 1e-3)
print(f"copy of {MB} MB: {gbps(q[9]):.0f} GB/s median, {gbps(q[18]):.0f} at P95")
