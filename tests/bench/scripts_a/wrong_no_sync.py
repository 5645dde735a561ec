# lies: no_sync
import timeit
import numpy as np
import torch
import torch_npu

a = torch.randn(1024, 1024, device="npu", dtype=torch.float16)
step = lambda: a @ a
for _ in range(10):
    step()
torch.npu.synchronize()
runs = np.array(timeit.repeat(step, number=20, repeat=7)) / 20 * 1e6
print(f"1024^3 matmul: p50 {np.percentile(runs, 50):.1f} us, p90 {np.percentile(runs, 90):.1f} us")
