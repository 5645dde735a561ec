import random
import time
import torch
import torch_npu

"""Masked regression: loss on torch.where(mask, prediction, 0). The report is markdown, to be pasted into a ticket."""

SHAPES = [(64, 64), (128, 256), (256, 512)]
REPEATS, VARIANTS = 48, 4
random.seed(2)
torch.manual_seed(2)


class Case:
    def __init__(self, n, d):
        self.n, self.d, self.ms = n, d, []
        self.w = torch.randn(d, d, device="npu").div_(d ** 0.5).requires_grad_()
        self.feeds = [(torch.randn(n, d, device="npu"), torch.rand(n, d, device="npu") > 0.3) for _ in range(VARIANTS)]

    def forward(self, w, x, mask):
        return torch.where(mask, x @ w, 0.0).square().mean()

    def once(self, k):
        x, mask = self.feeds[k % VARIANTS]
        self.w.grad = None
        torch.npu.synchronize()
        t = time.perf_counter()
        self.forward(self.w, x, mask).backward()
        torch.npu.synchronize()
        return 1e3 * (time.perf_counter() - t)

    def error(self):
        self.once(0)
        x, mask = self.feeds[0]
        w = self.w.detach().cpu().double().requires_grad_()
        self.forward(w, x.cpu().double(), mask.cpu()).backward()
        return ((self.w.grad.cpu().double() - w.grad).norm() / w.grad.norm()).item()


cases = [Case(*s) for s in SHAPES]
errors = [c.error() for c in cases]
for c in cases:
    for k in range(4):
        c.once(k)                     # warm-up, not in the table

for k in range(REPEATS):
    for c in random.sample(cases, len(cases)):
        c.ms.append(c.once(k))

print("## Masked loss, forward + backward\n")
print("| x | w | n | median ms | p10 ms | p90 ms | min..max ms | grad vs fp64 |")
print("|---|---|--:|--:|--:|--:|--:|--:|")
for c, e in zip(cases, errors):
    s = sorted(c.ms)
    p = lambda f: s[round(f * (len(s) - 1))]
    print(f"| {c.n}x{c.d} | {c.d}x{c.d} | {len(s)} | {p(.5):.3f} | {p(.1):.3f} | {p(.9):.3f} | {s[0]:.3f}..{s[-1]:.3f} | {e:.0e} |")
print(f"""
* A row is **matmul + where + square + mean and all of their backward**, with the wait at the end; the optimizer is *not* in it.
* Clearing the gradient happens before the clock starts.
* {VARIANTS} input/mask pairs per shape take turns (about 30 % masked out). They fit the L2: these are warm numbers.
* Shapes were visited in random order within each of the {REPEATS} sweeps; nothing was removed.
* Only these three shapes; I would not carry the numbers over to others.""")
