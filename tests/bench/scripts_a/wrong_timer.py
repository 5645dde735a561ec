# lies: timer
import time
import torch
import torch_npu

now = lambda: int(time.time() * 1000)
x = torch.ones(256, 256).npu()
for _ in range(10):
    x.exp()
torch.npu.synchronize()
got = []
for _ in range(9):
    start = now()
    for _ in range(200):
        x.exp()
    torch.npu.synchronize()
    got.append(now() - start)
got.sort()
print(f"200 x exp(256x256): median {got[4]} ms, worst {got[-1]} ms, best {got[0]} ms")
