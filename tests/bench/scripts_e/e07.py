# Does torch.compile help our activation? Quick look, several widths.
import time
import numpy as np
import torch
import torch_npu

def snake(x):
    return x + torch.sin(x * 2.0) ** 2 * 0.5

inputs = [torch.ones(256, w).npu() for w in (256, 1024, 4096)]

# warm the operators up
for x in inputs:
    for _ in range(10):
        snake(x)
torch.npu.synchronize()

for x in inputs:
    torch._dynamo.reset()
    compiled = torch.compile(snake, backend="npu")
    times = []
    for i in range(30):
        start = time.perf_counter()
        for _ in range(10):
            y = compiled(x)
        torch.npu.synchronize()
        times.append((time.perf_counter() - start) / 10)
    times = np.array(times) * 1e6
    print(tuple(x.shape), "compiled: mean %.1f us, std %.1f us, p50 %.1f us, p99 %.1f us, input in L2"
          % (times.mean(), times.std(), np.percentile(times, 50), np.percentile(times, 99)))
