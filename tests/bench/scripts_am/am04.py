"""Training step with a sorted (Wasserstein-like) loss on sequences of several lengths, compiled."""
import os
import tempfile
import time

os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()     # nothing left over from an earlier run

import torch
import torch_npu

DEV = "npu"
LENGTHS = [128, 192, 256, 320]
BATCH, FEATS = 16, 8
STEPS = 40

torch.manual_seed(3)
model = torch.nn.Linear(FEATS, 1).to(DEV)
opt = torch.optim.SGD(model.parameters(), lr=1e-2)


def sorted_loss(scores, target):
    a = torch.sort(scores, dim=-1).values
    b = torch.sort(target, dim=-1).values
    return (a - b).abs().mean()


compiled_loss = torch.compile(sorted_loss, dynamic=False)


def batch(n):
    return torch.randn(BATCH, n, FEATS).to(DEV), torch.randn(BATCH, n).to(DEV)


def train_step(x, y, loss_fn):
    opt.zero_grad(set_to_none=True)
    loss = loss_fn(model(x).squeeze(-1), y)
    loss.backward()
    opt.step()
    return loss


data = [batch(LENGTHS[i % len(LENGTHS)]) for i in range(STEPS)]

with torch.no_grad():
    x, y = batch(LENGTHS[0])
    s = model(x).squeeze(-1)
    assert torch.allclose(compiled_loss(s, y), sorted_loss(s, y), atol=1e-5)

x, y = batch(LENGTHS[0])
for _ in range(8):
    train_step(x, y, compiled_loss)
torch.npu.synchronize()

ms = []
for x, y in data:
    torch.npu.synchronize()
    t0 = time.perf_counter()
    train_step(x, y, compiled_loss)
    torch.npu.synchronize()
    ms.append((time.perf_counter() - t0) * 1e3)

ordered = sorted(ms)
mean = sum(ms) / len(ms)
print(f"training step with a compiled sort loss, batch {BATCH}, lengths {LENGTHS} in turn, {STEPS} steps")
print(f"mean {mean:.3f} ms/step, p10 {ordered[int(.1 * STEPS)]:.3f}, p50 {ordered[STEPS // 2]:.3f}, "
      f"p90 {ordered[int(.9 * STEPS)]:.3f}, max {ordered[-1]:.3f} ms")
print(f"=> {1e3 / mean:.1f} steps/s in steady state after the warm-up, host and device together")
