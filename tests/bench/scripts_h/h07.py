import random
import time
import numpy as np
import torch
import torch_npu

random.seed(0)

@torch.compile(backend="aot_eager", dynamic=False)
def attend(q):
    return torch.softmax(q @ q.transpose(-1, -2), -1) @ q

for n in (8, 16, 24):
    attend(torch.ones(2, n, 32).npu())
torch.npu.synchronize()
times = []
lengths = random.sample(range(25, 60), 7)
for n in lengths:
    q = torch.ones(2, n, 32).npu()
    torch.npu.synchronize()
    t = time.perf_counter_ns()
    attend(q)
    torch.npu.synchronize()
    times.append((time.perf_counter_ns() - t) / 1e3)
print(f"self attention, [2, n, 32] for n in {lengths}: P50 {np.median(times):.1f} us, P90 {np.quantile(times, .9):.1f}")
