"""One training step of a small block, with nn.LayerNorm and with our hand-written layer norm."""
import random

import numpy as np
import torch
from torch import nn
import torch_npu

WIDTH, ROWS, ROUNDS = 256, 192, 80


class HandLayerNorm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x):
        scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + self.eps)
        return x * scale * self.weight + self.bias


def trainer(norm):
    torch.manual_seed(11)
    net = nn.Sequential(nn.Linear(WIDTH, WIDTH), norm, nn.ReLU(), nn.Linear(WIDTH, 1)).to("npu")
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)

    def step(batch, target):
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(net(batch), target)
        loss.backward()
        optimizer.step()

    return step


def timed(step, batch, target):
    a, b = (torch.npu.Event(enable_timing=True) for _ in range(2))
    a.record()
    step(batch, target)
    b.record()
    return a, b


steps = {"nn.LayerNorm": trainer(nn.LayerNorm(WIDTH)), "hand-written": trainer(HandLayerNorm(WIDTH))}
torch.manual_seed(12)
data = [(torch.rand(ROWS, WIDTH).npu() + 1.0, torch.randn(ROWS, 1).npu()) for _ in range(8)]

for batch, target in data * 2:
    for step in steps.values():
        step(batch, target)
torch.npu.synchronize()

order, events = list(steps), {name: [] for name in steps}
dice = random.Random(4)
for i in range(ROUNDS):
    dice.shuffle(order)
    for name in order:
        events[name].append(timed(steps[name], *data[i % len(data)]))
torch.npu.synchronize()

us = {name: np.array([1e3 * a.elapsed_time(b) for a, b in pairs]) for name, pairs in events.items()}
print(f"training step (forward, backward, SGD), float32, {ROWS} x {WIDTH}, 8 batches in rotation, {ROUNDS} rounds, drawn order")
for name, t in us.items():
    q1, q2, q3 = np.percentile(t, [25, 50, 75])
    print(f"  {name:14} median {q2:8.1f} us   quartiles {q1:8.1f} .. {q3:8.1f}   max {t.max():8.1f}")
ratio = us["nn.LayerNorm"] / us["hand-written"]
q1, q2, q3 = np.percentile(ratio, [25, 50, 75])
print(f"nn.LayerNorm takes {q2:.3f} times the step of our layer norm (quartiles of the pairs {q1:.3f} .. {q3:.3f}) at this shape")
