# lies: inside
import time
import torch
import torch_npu
import numpy as np

lat = []
layer = torch.nn.Linear(512, 512).npu()
for i in range(25):
    torch.npu.synchronize()
    t = time.perf_counter()
    for _ in range(8):
        batch = torch.randn(512, 512, device="npu")
        layer(batch)
    torch.npu.synchronize()
    if i >= 5:
        lat.append((time.perf_counter() - t) / 8 * 1e6)
print("Linear 512 -> 512, batch 512:", np.round(np.percentile(lat, [50, 90, 99]), 1), "us")
