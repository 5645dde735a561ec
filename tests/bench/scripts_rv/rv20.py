from time import perf_counter as now

import numpy as np
import torch
import torch_npu

torch.set_num_threads(1)
BATCHES = [1, 4, 16, 64, 256]
N = 40

rng = torch.Generator().manual_seed(21)
w1 = (torch.randn(256, 512, generator=rng) / 16).half().npu()
w2 = (torch.randn(512, 256, generator=rng) / 23).half().npu()


@torch.inference_mode()
def serve(x):
    return torch.relu(x @ w1) @ w2


print("#### Feed-forward block 256-512-256, float16, by batch")
print()
print("| batch | P50 ms | P95 ms | mean ms | items/s | us an item |")
print("|------:|-------:|-------:|--------:|--------:|-----------:|")
for batch in BATCHES:
    x = torch.randn(batch, 256, generator=rng).half().npu()
    for _ in range(10):
        serve(x)
    torch.npu.synchronize()
    ms = np.zeros(N)
    for i in range(N):
        t = now()
        serve(x)
        torch.npu.synchronize()
        ms[i] = (now() - t) * 1e3
    p50, p95 = np.percentile(ms, (50, 95))
    print(f"| {batch} | {p50:.3f} | {p95:.3f} | {ms.mean():.3f} | {batch * N / ms.sum() * 1e3:,.0f} | {ms.mean() / batch * 1e3:.2f} |")
print()
print(f"*One batch in flight: {N} calls per line, each followed by a wait which belongs to its time. Every batch size was "
      f"warmed by itself. items/s and us an item come from the sum of all {N} calls, stragglers too, hence from the mean "
      f"and not from P50; how many items/s several batches in flight would give was not measured.*")
