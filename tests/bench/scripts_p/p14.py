"""matmul: nothing is summed up, all twelve readings of each size are on the table."""
import time

import torch
import torch_npu  # noqa: F401

print("torch.matmul, float16, microseconds a product (blocks of 8 products), reading by reading:")
for n in (128, 512, 1024):
    a = torch.ones(n, n, dtype=torch.float16, device="npu")
    for _ in range(10):
        a @ a
    torch.npu.synchronize()
    readings = []
    for _ in range(12):
        t = time.perf_counter()
        for _ in range(8):
            a @ a
        torch.npu.synchronize()
        readings.append(f"{(time.perf_counter() - t) / 8 * 1e6:.1f}")
    print(f"  {n}x{n} @ {n}x{n}: {' '.join(readings)}")
