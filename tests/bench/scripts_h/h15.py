"""A search that stops by a test on the device: cost of one iteration of Newton's method, vectors of 1e3 and 1e5."""
import time
import statistics
import torch
import torch_npu

def newton(x, steps=30):
    y = x
    for _ in range(steps):
        y = 0.5 * (y + x / y)
        if (y < 0).any():
            raise ValueError("diverged")
    return y

for n in (1000, 100000):
    x = torch.full((n,), 2.0).npu()
    for _ in range(3):
        newton(x)
    t = []
    for _ in range(12):
        torch.npu.synchronize()
        a = time.perf_counter()
        newton(x)
        torch.npu.synchronize()
        t.append((time.perf_counter() - a) / 30 * 1e6)
    t.sort()
    print(f"n={n}: median {statistics.median(t):.1f}, fastest {t[0]:.1f}, slowest {t[-1]:.1f} us an iteration")
