"""Training throughput of a small conv net: images per second, whole step.

A step is zero_grad, forward, loss, backward, SGD. The batches already lie on
the device; loading them is not a part of this figure.
"""
import time
from statistics import quantiles

import torch
import torch.nn as nn
import torch.nn.functional as F

import labkit  # noqa: F401

BATCH, WARM, WINDOW, WINDOWS = 16, 6, 4, 8


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.c1(x))
        x = F.relu(self.c2(x))
        return self.fc(x.mean((2, 3)))


class Trainer:
    def __init__(self):
        torch.manual_seed(1)
        self.net = Net().to("npu")
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)
        self.data = [
            (torch.randn(BATCH, 3, 32, 32, device="npu"), torch.randint(0, 10, (BATCH,), device="npu"))
            for _ in range(4)
        ]
        self.i = 0

    def step(self):
        x, y = self.data[self.i % len(self.data)]
        self.i += 1
        self.opt.zero_grad(set_to_none=True)
        loss = F.cross_entropy(self.net(x), y)
        loss.backward()
        self.opt.step()
        return loss


tr = Trainer()
for _ in range(WARM):
    tr.step()
torch.npu.synchronize()

rates = []
for _ in range(WINDOWS):
    t0 = time.perf_counter()
    for _ in range(WINDOW):
        last = tr.step()
    torch.npu.synchronize()
    rates.append(BATCH * WINDOW / (time.perf_counter() - t0))

q1, q2, q3 = quantiles(rates, n=4)
print(f"conv net fp32, batch {BATCH} of 3x32x32, {WINDOWS} windows of {WINDOW} steps after {WARM} warm-up steps")
print(f"training throughput {q2:.0f} img/s, quartiles {q1:.0f} .. {q3:.0f}, all: {[round(r) for r in rates]}")
print(f"loss at the end {last.item():.3f}")
