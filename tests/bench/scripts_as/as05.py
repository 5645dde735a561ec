"""Step time of the tabular baseline, as the trainer runs it."""
import time

import numpy as np
import torch
from torch import nn
import torch_npu  # noqa: F401

torch.set_num_threads(1)
torch.manual_seed(3)
BATCH, FEATURES, STEPS, RAMP = 64, 32, 40, 8

model = nn.Sequential(
    nn.Linear(FEATURES, 64), nn.ReLU(),
    nn.Linear(64, 64), nn.ReLU(),
    nn.Linear(64, 1),
).npu()
opt = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
criterion = nn.MSELoss()

# ten batches that stay on the card; the loader is somebody else's benchmark
batches = [(torch.randn(BATCH, FEATURES).npu(), torch.randn(BATCH, 1).npu()) for _ in range(10)]


def step(i):
    x, y = batches[i % len(batches)]
    opt.zero_grad(set_to_none=True)
    loss = criterion(model(x), y)
    loss.backward()
    opt.step()
    return loss.item()      # the trainer logs every loss


ramp, laps, losses = [], [], []
torch.npu.synchronize()
for i in range(RAMP + STEPS):
    mark = time.perf_counter()
    value = step(i)
    torch.npu.synchronize()
    (ramp if i < RAMP else laps).append((time.perf_counter() - mark) * 1e3)
    losses.append(value)

p10, p50, p90 = np.percentile(laps, [10, 50, 90])
print(f"Device: {torch.npu.get_device_name()}.")
print(f"The first step took {ramp[0]:.1f} ms; it and the {RAMP - 1} after it are not part of what follows.")
print(f"Over the next {STEPS} steps of batch {BATCH}, a step took {p50:.2f} ms at the median "
      f"(P10 {p10:.2f} ms, P90 {p90:.2f} ms, longest {max(laps):.2f} ms).")
print("A step is zero_grad, forward, backward, SGD and the read-back of the loss to the host, "
      "which makes the host wait in every step, as in our trainer; loading data is not part of it.")
print(f"These {STEPS} steps together saw {BATCH * STEPS / sum(laps) * 1e3:,.0f} rows a second, waits included.")
print(f"Mean loss of the first pass over the ten batches {np.mean(losses[:10]):.3f}, "
      f"of the last ten steps {np.mean(losses[-10:]):.3f}.")
