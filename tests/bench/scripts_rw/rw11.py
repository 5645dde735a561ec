"""A training step of a small MLP, watched by two clocks."""
import time
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_npu

torch.set_num_threads(1)
torch.manual_seed(8)
BATCH, KEEP, SKIP = 64, 60, 12
net = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).npu()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
x = torch.randn(BATCH, 128, device="npu")
y = torch.randint(0, 10, (BATCH,), device="npu")

wall = deque(maxlen=KEEP)
marks = deque(maxlen=KEEP)
losses = []


def flag():
    e = torch.npu.Event(enable_timing=True)
    e.record()
    return e


for _ in range(SKIP + KEEP):
    torch.npu.synchronize()
    t = time.perf_counter()
    row = [flag()]
    loss = F.cross_entropy(net(x), y)
    row.append(flag())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    row.append(flag())
    opt.step()
    row.append(flag())
    torch.npu.synchronize()
    wall.append((time.perf_counter() - t) * 1e3)
    marks.append(row)
    losses.append(loss.detach())

device = torch.tensor([[a.elapsed_time(b) for a, b in zip(r, r[1:])] + [r[0].elapsed_time(r[3])] for r in marks])
host = torch.tensor(list(wall))


def show(values, indent):
    q = torch.quantile(values.double(), torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)).tolist()
    print(f"{indent}median: {q[1]:.4f}\n{indent}quartiles: [{q[0]:.4f}, {q[2]:.4f}]")


print("training_step:")
print("  model: Linear 128-256-256-10 with ReLU, SGD with momentum, float32")
print(f"  batch: {BATCH}   # the same one in every step")
print(f"  steps: {{dropped: {SKIP}, kept: {KEEP}}}")
print("  unit: ms")
print("  host_clock:")
print("    covers: idle device to idle device, issue of the whole step and one wait at its end")
show(host, "    ")
print("  device_clock:")
print("    covers: between events on the stream, so the gaps in which the device waited for Python count")
for column, part in enumerate(("forward_and_loss", "zero_grad_and_backward", "optimizer", "step")):
    print(f"    {part}:")
    show(device[:, column], "      ")
print("    note: medians of parts need not add up to the median of the step")
print(f"  samples_per_s_by_host_clock: {BATCH / host.median().item() * 1e3:.0f}")
print(f"  loss: {{first: {losses[0].item():.4f}, last: {losses[-1].item():.4f}}}")
