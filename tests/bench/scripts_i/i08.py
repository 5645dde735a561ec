import time
import statistics
import torch
import torch_npu

def cpu_seconds():
    return time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)

for n in (256, 1024):
    a = torch.ones(n, n).npu()
    for _ in range(3):
        torch.mm(a, a)
    laps = []
    for _ in range(20):
        torch.npu.synchronize()
        t = cpu_seconds()
        for _ in range(10):
            torch.mm(a, a)
        torch.npu.synchronize()
        laps.append((cpu_seconds() - t) * 1e5)
    print(f"mm {n}x{n}: median {statistics.median(laps):.1f} us, stdev {statistics.stdev(laps):.2f}")
