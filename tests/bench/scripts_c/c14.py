# right
# throughput over a duration
import time
import statistics
import torch
import torch_npu

m = torch.nn.Linear(128, 128).npu()
x = torch.randn(64, 128).npu()
for _ in range(50):
    m(x)
torch.npu.synchronize()
rates = []
for _ in range(6):
    done = 0
    t0 = time.perf_counter()
    while time.perf_counter() - t0 < 0.002:
        for _ in range(20):
            m(x)
        torch.npu.synchronize()
        done += 20
    rates.append(done / (time.perf_counter() - t0))
print(f"Linear(128, 128), batch 64: {statistics.median(rates):.0f} calls/s, from {min(rates):.0f} to {max(rates):.0f}")
