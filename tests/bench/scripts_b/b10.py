# lies: timer, spread
from datetime import datetime
import torch, torch_npu

x = torch.ones(512, 512).npu()
y = torch.ones(512, 512).npu()
for _ in range(5):
    torch.add(x, y)
torch.npu.synchronize()
begin = datetime.now()
for _ in range(1000):
    torch.add(x, y)
torch.npu.synchronize()
print("1000 additions of 512x512 take", (datetime.now() - begin).seconds, "s")
