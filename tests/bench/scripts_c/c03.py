# lies: sync_loop
# events, but a wait behind every call
import torch
import torch_npu
import numpy as np


def percentiles(fn, reps=60):
    for _ in range(10):
        fn()
    ms = []
    for _ in range(reps):
        a = torch.npu.Event(enable_timing=True)
        b = torch.npu.Event(enable_timing=True)
        torch.npu.synchronize()
        a.record()
        fn()
        b.record()
        torch.npu.synchronize()
        ms.append(a.elapsed_time(b))
    return np.percentile(np.array(ms) * 1000, (50, 90, 99))


for n in (3 << 18, 1 << 21):
    v = torch.rand(n).npu()
    print(n, "elements, tanh us:", percentiles(lambda: torch.tanh(v)).round(2))
