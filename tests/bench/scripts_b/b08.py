# lies: mismatch
# fp16 is only in the title
import torch
import torch_npu
import time
import numpy as np

print("=== fp16 matmul ===")
for n in (128, 320):
    a = torch.randn(n, n).npu()
    b = torch.randn(n, n).npu()
    for _ in range(5):
        torch.matmul(a, b)
    torch.npu.synchronize()
    res = []
    for _ in range(12):
        st = time.perf_counter()
        for _ in range(30):
            torch.matmul(a, b)
        torch.npu.synchronize()
        res.append((time.perf_counter() - st) / 30)
    print(f"{n}x{n}: mean {np.mean(res) * 1e6:.2f} us std {np.std(res) * 1e6:.2f} us")
