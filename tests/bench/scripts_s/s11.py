"""Step time of a small contrastive learner. All samples are shown, then a trimmed view."""
import labkit  # noqa: F401
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

BATCH, DIM, PROJ = 64, 128, 32
WARMUP, STEPS = 25, 150


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, 128), nn.ReLU(), nn.Linear(128, PROJ))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


def step(model, opt, a, b, target):
    opt.zero_grad(set_to_none=True)
    logits = model(a) @ model(b).t() / 0.1
    F.cross_entropy(logits, target).backward()
    opt.step()


def collect():
    torch.manual_seed(0)
    model = Encoder().npu().train()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    target = torch.arange(BATCH, device="npu")
    pairs = [(torch.randn(BATCH, DIM, device="npu"), torch.randn(BATCH, DIM, device="npu"))
             for _ in range(16)]
    for i in range(WARMUP):
        step(model, opt, *pairs[i % 16], target)
    marks = [torch.npu.Event(enable_timing=True) for _ in range(STEPS + 1)]
    torch.npu.synchronize()
    marks[0].record()
    for i in range(STEPS):
        step(model, opt, *pairs[i % 16], target)
        marks[i + 1].record()
    torch.npu.synchronize()
    return np.array([p.elapsed_time(q) for p, q in zip(marks, marks[1:])])


def show(title, ms):
    p = np.percentile(ms, [10, 50, 90, 99])
    print(f"{title}: n={ms.size} mean {ms.mean():.4f} ms, p10 {p[0]:.4f}, p50 {p[1]:.4f}, "
          f"p90 {p[2]:.4f}, p99 {p[3]:.4f}, max {ms.max():.4f}")


ms = collect()
print(f"SGD step, batch={BATCH} dim={DIM} proj={PROJ} float32, 16 batches on the device in turn")
show("all steps", ms)
q1, q3 = np.percentile(ms, [25, 75])
fence = q3 + 3 * (q3 - q1)
far = np.flatnonzero(ms > fence)
print(f"outliers by Tukey's far fence ({fence:.4f} ms): {far.size} of {ms.size}")
for i in far:
    print(f"  step {i}: {ms[i]:.4f} ms")
show(f"without those {far.size} (secondary figure)", ms[ms <= fence])
