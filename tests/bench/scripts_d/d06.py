# lies: warmup
# warmed up with another operator
import time
import numpy as np
import torch
import torch_npu

x = torch.rand(300, 400).npu()
for _ in range(10):
    torch.relu(x)
torch.npu.synchronize()
rows = []
for _ in range(10):
    t = time.monotonic()
    for _ in range(20):
        torch.nn.functional.hardswish(x)
    torch.npu.synchronize()
    rows.append(1e6 * (time.monotonic() - t) / 20)
print(f"hardswish 300x400: {np.mean(rows):.1f} +- {np.std(rows):.1f} us")
