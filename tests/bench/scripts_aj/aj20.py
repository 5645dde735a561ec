"""Time of a whole training step of a small convolutional net: forward, loss, backward, optimizer."""
import time

import numpy as np
import torch
from torch import nn
import torch_npu

STEPS, WARMUP, POOL = 40, 8, 8


def network():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip


def train(batch):
    torch.manual_seed(1)
    model = network().to("npu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    data = [(torch.randn(batch, 3, 16, 16, device="npu"), torch.randint(10, (batch,), device="npu")) for _ in range(POOL)]

    def step(images, labels):
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    for i in range(WARMUP):
        step(*data[i % POOL])
    times, losses = [], []
    for i in range(STEPS):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        loss = step(*data[i % POOL])
        torch.npu.synchronize()
        times.append((time.perf_counter() - t0) * 1e3)
        losses.append(loss)
    assert torch.stack(losses).isfinite().all()
    return np.array(times)


print("Training step of a net of two conv2d layers on 16 x 16 images, float32, SGD with momentum, one step at a time.")
print(f"{STEPS} steps after {WARMUP} that are not counted. The batches are on the device before ({POOL} in turn, small enough")
print("for the L2): loading of data is not in the figures.")
for batch in (4, 8, 16):
    ms = train(batch)
    q1, q2, q3 = np.percentile(ms, [25, 50, 75])
    print(f"  batch {batch:2d}: median {q2:.3f} ms a step (quartiles {q1:.3f} .. {q3:.3f}, min {ms.min():.3f}, max {ms.max():.3f}); "
          f"{batch / q2 * 1e3:.0f} images/s at the median")
