# lies: spread
# many samples, one mean
import time
import torch
import torch_npu

conv = torch.nn.Conv2d(8, 8, 3, padding=1).npu()
for hw in (16, 32):
    x = torch.rand(2, 8, hw, hw).npu()
    with torch.no_grad():
        for _ in range(5):
            conv(x)
        torch.npu.synchronize()
        total = 0.0
        n = 0
        while n < 25:
            t0 = time.perf_counter()
            for _ in range(10):
                conv(x)
            torch.npu.synchronize()
            total += time.perf_counter() - t0
            n += 1
    print(f"conv3x3 (2, 8, {hw}, {hw}): average {total / n / 10 * 1e6:.1f} us")
