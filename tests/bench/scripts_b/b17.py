# right
# transfer of a batch to the device is the subject
import time
import statistics
import torch
import torch_npu

for mb in (1, 8):
    src = torch.empty(mb * 2**20, dtype=torch.uint8).pin_memory()
    for _ in range(3):
        src.npu()
    torch.npu.synchronize()
    laps = []
    for _ in range(10):
        t = time.perf_counter()
        for _ in range(4):
            src.npu()
        torch.npu.synchronize()
        laps.append((time.perf_counter() - t) / 4)
    rate = [mb / 1024 / v for v in laps]
    print(f"H2D {mb} MiB: median {statistics.median(rate):.1f} GiB/s, from {min(rate):.1f} to {max(rate):.1f}")
