"""AdamW foreach against the plain loop over parameters."""
import gc
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

import labkit  # noqa: F401

CFG = SimpleNamespace(layers=6, width=128, warm=4, windows=10, steps=3)


def build(foreach):
    torch.manual_seed(0)
    net = nn.Sequential(*[nn.Linear(CFG.width, CFG.width) for _ in range(CFG.layers)]).to("npu")
    for p in net.parameters():
        p.grad = torch.randn_like(p)
    return torch.optim.AdamW(net.parameters(), lr=1e-3, foreach=foreach)


def windows(opt):
    for _ in range(CFG.windows):
        a = torch.npu.Event(enable_timing=True)
        b = torch.npu.Event(enable_timing=True)
        a.record()
        for _ in range(CFG.steps):
            opt.step()
        b.record()
        b.synchronize()
        yield a.elapsed_time(b) / CFG.steps


def summarize(v):
    m = v.mean()
    half = 2 * v.std(ddof=1) / np.sqrt(len(v))
    return m, half


plain, multi = build(False), build(True)
for opt in (plain, multi):
    for _ in range(CFG.warm):
        opt.step()
torch.npu.synchronize()
gc.disable()

t_plain = np.fromiter(windows(plain), float)
t_multi = np.fromiter(windows(multi), float)

(mp, hp), (mm, hm) = summarize(t_plain), summarize(t_multi)
print(f"AdamW step, {CFG.layers} linear layers of {CFG.width}x{CFG.width}, fp32, {CFG.windows} windows each")
print(f"  loop     {mp:.3f} +- {hp:.3f} ms")
print(f"  foreach  {mm:.3f} +- {hm:.3f} ms")
if mp - hp > mm + hm:
    print(f"  foreach speeds the step up {mp / mm:.2f} times for this model")
elif mm - hm > mp + hp:
    print(f"  foreach slows the step down {mm / mp:.2f} times for this model")
else:
    print("  the intervals overlap: no conclusion")
