# right
import time
import statistics
import torch
import torch_npu

torch.manual_seed(0)
for size in (256, 512):
    a = torch.randn(size, size).npu()
    for _ in range(10):
        a @ a
    torch.npu.synchronize()
    rounds = []
    for _ in range(10):
        t0 = time.time()
        for _ in range(50):
            a @ a
        torch.npu.synchronize()
        rounds.append((time.time() - t0) / 50 * 1e6)
    print(f"matmul {size}x{size}: median {statistics.median(rounds):.2f} us, stdev {statistics.stdev(rounds):.2f} us")
