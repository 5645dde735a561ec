"""Scaling with the batch: 100 calls each, warm L2."""
import time
import torch
import torch_npu

conv = torch.nn.Conv2d(8, 8, 3, padding=1).npu().eval()
print("batch   images/s   (8 x 32 x 32)")
for batch in (1, 4, 16, 64):
    x = torch.ones(batch, 8, 32, 32).npu()
    with torch.no_grad():
        for _ in range(10):
            conv(x)
        torch.npu.synchronize()
        begin = time.perf_counter()
        for _ in range(100):
            conv(x)
        torch.npu.synchronize()
        took = time.perf_counter() - begin
    print(f"{batch:5d} {100 * batch / took:10.0f}")
