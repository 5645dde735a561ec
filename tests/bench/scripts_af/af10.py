import labkit
import time

import numpy as np
import torch

# Training steps of a token mixer: features and tokens change places by a copy, then a linear layer.
TOKENS, FEATURES, OUT = 256, 512, 128
STEPS = 24

torch.manual_seed(10)
weight = torch.nn.Parameter(torch.randn(TOKENS, OUT, device="npu") / TOKENS**0.5)
optimizer = torch.optim.SGD([weight], lr=1e-3)
batches = [torch.randn(TOKENS, FEATURES, device="npu") for _ in range(STEPS)]
targets = [torch.randn(FEATURES, OUT, device="npu") for _ in range(STEPS)]


def step(x, target):
    optimizer.zero_grad(set_to_none=True)
    mixed = x.t().contiguous() @ weight
    loss = (mixed - target).square().mean()
    loss.backward()
    optimizer.step()
    return loss


torch.npu.synchronize()
marks = [torch.npu.Event(enable_timing=True) for _ in range(STEPS + 1)]
losses = []
begin = time.perf_counter()
marks[0].record()
for x, target, mark in zip(batches, targets, marks[1:]):
    losses.append(step(x, target).detach())
    mark.record()
torch.npu.synchronize()
total = time.perf_counter() - begin

steps_ms = np.array([a.elapsed_time(b) for a, b in zip(marks, marks[1:])])
p25, p50, p75 = np.percentile(steps_ms, [25, 50, 75])
print(f"token mixer {TOKENS} tokens x {FEATURES} features -> {OUT}, float32, SGD, a new batch for each step")
print(f"loss of the steps: {torch.stack(losses).cpu().min():.3f} to {torch.stack(losses).cpu().max():.3f}")
print(f"{STEPS} steps, one wait at the end: {total * 1e3:.2f} ms of host time")
print(f"on the device a step takes {1e3 * p50:.0f} us in the median (P25 {1e3 * p25:.0f}, P75 {1e3 * p75:.0f})")
print(f"Sustained training speed: {STEPS / total:.1f} steps a second, {STEPS * TOKENS / total:,.0f} tokens a second.")
