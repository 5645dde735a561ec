# right
# what the host pays to issue a kernel: no wait is wanted
import time
import numpy as np
import torch
import torch_npu

x = torch.ones(32, 32).npu()
for _ in range(100):
    x + 1
torch.npu.synchronize()
out = []
for _ in range(30):
    t = time.perf_counter_ns()
    for _ in range(20):
        x + 1
    out.append((time.perf_counter_ns() - t) / 20)
    torch.npu.synchronize()
print(f"host time to issue one add (32x32): median {np.median(out):.0f} ns, P90 {np.percentile(out, 90):.0f} ns")
