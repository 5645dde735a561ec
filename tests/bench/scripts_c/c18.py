# right
# CPU and NPU side by side, and it says so
import time
import statistics
import torch
import torch_npu

x = torch.randn(128, 128)
y = x.npu()


def lap(fn, sync, n=20):
    t = time.perf_counter()
    for _ in range(n):
        fn()
    sync()
    return (time.perf_counter() - t) / n * 1e6


sides = {"cpu": (lambda: x @ x, lambda: None), "npu": (lambda: y @ y, torch.npu.synchronize)}
for fn, sync in sides.values():
    for _ in range(3):
        lap(fn, sync)
laps = {k: [] for k in sides}
for _ in range(10):
    for k, (fn, sync) in sides.items():
        laps[k].append(lap(fn, sync))
for k, v in laps.items():
    print(f"128x128 matmul on the {k}: median {statistics.median(v):.2f} us, stdev {statistics.stdev(v):.2f}")
