"""AdamW over the parameters of a small MLP: time of a step by events."""
import numpy as np
import torch
from torch import nn
import torch_npu

WIDTHS = (128, 256, 256, 64)
STEPS = 40


def build():
    torch.manual_seed(9)
    layers = []
    for a, b in zip(WIDTHS, WIDTHS[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def fill_gradients(net):
    gen = torch.Generator().manual_seed(10)
    for p in net.parameters():
        p.grad = torch.randn(p.shape, generator=gen).to(p.device)


def settings():
    return dict(lr=1e-3, betas=(0.9, 0.99), weight_decay=0.05)


net, twin = build().npu(), build()
fill_gradients(net)
fill_gradients(twin)
optimizer = torch.optim.AdamW(net.parameters(), **settings())
reference = torch.optim.AdamW(twin.parameters(), **settings())
torch.npu.synchronize()

events = []
for _ in range(STEPS):
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    begin.record()
    optimizer.step()
    end.record()
    events.append((begin, end))
torch.npu.synchronize()
us = np.array([1e3 * b.elapsed_time(e) for b, e in events])

for _ in range(STEPS):
    reference.step()
apart = max((p.cpu() - q).abs().max().item() for p, q in zip(net.parameters(), twin.parameters()))
assert apart < 1e-4, apart

count = sum(p.numel() for p in net.parameters())
q1, q2, q3 = np.percentile(us, [25, 50, 75])
print(f"AdamW.step(), {len(list(net.parameters()))} float32 parameters, {count:,} elements, same gradients in each step (hot L2)")
print(f"agrees with the CPU after {STEPS} steps to {apart:.1e}")
print(f"step: mean {us.mean():.1f} us, standard deviation {us.std(ddof=1):.1f} us, n = {len(us)}")
print(f"      quartiles {q1:.1f} / {q2:.1f} / {q3:.1f} us, range {us.min():.1f} .. {us.max():.1f} us")
print(f"      {count / us.mean():.0f} elements a microsecond; an epoch of 10,000 steps spends {us.mean() / 100:.2f} s in the optimizer")
