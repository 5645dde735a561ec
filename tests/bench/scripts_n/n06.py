"""Wall time of a whole training iteration: batch from pinned host memory, forward, backward, SGD, loss back on the host."""
import time
from contextlib import contextmanager

import numpy as np
import torch
import torch_npu
from torch import nn

BATCH, FEATURES, CLASSES = 128, 256, 10
times = {}


@contextmanager
def clocked(label):
    torch.npu.synchronize()
    start = time.perf_counter()
    yield
    torch.npu.synchronize()
    times.setdefault(label, []).append(time.perf_counter() - start)


torch.manual_seed(1)
model = nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, CLASSES)).npu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()
batches = [
    (torch.randn(BATCH, FEATURES).pin_memory(), torch.randint(CLASSES, (BATCH,)).pin_memory()) for _ in range(8)
]
losses = []


def iteration(i):
    x, y = batches[i % len(batches)]
    x, y = x.to("npu", non_blocking=True), y.to("npu", non_blocking=True)
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())


for i in range(10):
    iteration(i)
for i in range(60):
    with clocked("iteration"):
        iteration(i)

us = 1e6 * np.array(times["iteration"])
p10, p50, p90, p99 = np.percentile(us, [10, 50, 90, 99])
print(f"MLP {FEATURES}-256-{CLASSES}, batch {BATCH}, fp32, SGD with momentum")
print(f"one iteration, end to end (copy to device and loss.item() included, host waits): median {p50:.0f} us")
print(f"P10 {p10:.0f}, P90 {p90:.0f}, P99 {p99:.0f}, n = {len(us)}; that is {BATCH / p50 * 1e6:,.0f} samples/s at this batch size")
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
