"""Two layouts, in turn (ABBA); the difference with a bootstrap interval; nothing is left out."""
import time
import numpy as np
import torch
import torch_npu

rng = np.random.default_rng(0)

def lap(f, calls=20):
    torch.npu.synchronize()
    t = time.perf_counter_ns()
    for _ in range(calls):
        f()
    torch.npu.synchronize()
    return (time.perf_counter_ns() - t) / calls / 1e3

for shape in ((16, 8, 32, 32), (4, 16, 57, 57)):
    x = torch.ones(shape, device="npu")
    y = x.to(memory_format=torch.channels_last)
    a, b = (lambda: torch.relu(x)), (lambda: torch.relu(y))
    for f in (a, b) * 3:
        lap(f, 5)
    d = []
    for _ in range(20):
        p, q, r, s = lap(a), lap(b), lap(b), lap(a)
        d.append((q + r) / (p + s))
    means = [np.median(rng.choice(d, len(d))) for _ in range(500)]
    lo, hi = np.percentile(means, [2.5, 97.5])
    print(f"{shape}: channels_last / contiguous {np.median(d):.3f}, 95 % in [{lo:.3f}, {hi:.3f}] ({len(d)} rounds, warm L2)")
