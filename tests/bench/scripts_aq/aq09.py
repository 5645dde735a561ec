"""One AdamW update: repeat until the mean is steady, then report."""
import statistics
import time

import torch
import torch_npu

LIMIT, WINDOW, TOLERANCE = 60, 20, 0.02


def make(count, size):
    params = [torch.nn.Parameter(torch.randn(size, size, device="npu")) for _ in range(count)]
    for p in params:
        p.grad = torch.randn_like(p)
    torch.npu.synchronize()
    return torch.optim.AdamW(params, lr=1e-3, weight_decay=0.01)


def until_steady(optimiser):
    samples = []
    while len(samples) < LIMIT:
        torch.npu.synchronize()
        t0 = time.perf_counter()
        optimiser.step()
        torch.npu.synchronize()
        samples.append((time.perf_counter() - t0) * 1e6)
        if len(samples) >= 2 * WINDOW:
            a = statistics.median(samples[-WINDOW:])
            b = statistics.median(samples[-2 * WINDOW:-WINDOW])
            if abs(a - b) <= TOLERANCE * b:
                break
    return samples


for count, size in [(2, 64), (4, 128), (8, 128)]:
    samples = until_steady(make(count, size))
    print(f"{count} parameters of {size} x {size} fp32: AdamW step mean {statistics.mean(samples):.1f} us, "
          f"stdev {statistics.stdev(samples):.1f}, from {min(samples):.1f} to {max(samples):.1f} us, "
          f"n={len(samples)}")
print("Steady-state time of one optimiser step with its wait; state and gradients hot in L2.")
