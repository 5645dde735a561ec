# lies: mismatch
import time
import statistics as st
import torch
import torch_npu

dev = torch.device("npu")
model = torch.nn.Linear(256, 256)
x = torch.randn(64, 256)
for _ in range(10):
    model(x)
torch.npu.synchronize()
lap = []
for _ in range(20):
    t = time.perf_counter()
    for _ in range(10):
        model(x)
    torch.npu.synchronize()
    lap.append((time.perf_counter() - t) * 1e5)
print(f"Linear(256, 256) on {dev}, batch 64: {st.median(lap):.1f} us, stdev {st.stdev(lap):.2f}")
