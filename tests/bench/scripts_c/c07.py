# lies: timer
import time
import statistics
import torch
import torch_npu

x = torch.rand(400, 400).npu()
for _ in range(5):
    torch.matmul(x, x)
torch.npu.synchronize()
v = []
for _ in range(10):
    c0 = time.process_time()
    for _ in range(20):
        torch.matmul(x, x)
    torch.npu.synchronize()
    v.append((time.process_time() - c0) / 20)
print("matmul 400 x 400:", statistics.median(v) * 1e6, "us, quartiles", [q * 1e6 for q in statistics.quantiles(v)])
