"""Batch sweep of a projection in half precision: which batch fills the cube?"""
import numpy as np
import torch
import torch_npu

DTYPE = torch.float16
IN, OUT = 512, 512
BATCHES = [16, 32, 64, 128, 256]
ROUNDS, CALLS = 25, 8


class Projection:
    def __init__(self, batch, dtype=DTYPE):
        self.batch, self.dtype = batch, dtype
        gen = torch.Generator().manual_seed(batch)
        self.x = torch.randn(batch, IN, generator=gen)
        self.w = torch.randn(IN, OUT, generator=gen) / IN ** 0.5
        self.dx, self.dw = self.x.to("npu"), self.w.to("npu")
        self.marks = []

    def __call__(self):
        return torch.matmul(self.dx, self.dw)

    def check(self):
        return (self().float().cpu() - self.x @ self.w).abs().max().item()

    def block(self):
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        a.record()
        for _ in range(CALLS):
            self()
        b.record()
        self.marks.append((a, b))

    def us(self):
        return np.array([a.elapsed_time(b) * 1e3 / CALLS for a, b in self.marks])


sweep = [Projection(b) for b in BATCHES]
errors = {p.batch: p.check() for p in sweep}
assert max(errors.values()) < 0.05
for p in sweep:
    for _ in range(3 * CALLS):
        p()
torch.npu.synchronize()
rng = np.random.default_rng(5)
for _ in range(ROUNDS):
    for i in rng.permutation(len(sweep)):
        sweep[i].block()
torch.npu.synchronize()

name = str(DTYPE).removeprefix("torch.")
print(f"matmul, {name} inputs, [batch, {IN}] x [{IN}, {OUT}], hot L2; {ROUNDS} blocks of {CALLS} calls each, batches in drawn order")
print(f"{'batch':>6} {'us p50':>8} {'p10':>8} {'p90':>8} {name + ' TFLOP/s':>18} {'rows/ms':>9} {'error':>9}")
for p in sweep:
    p10, p50, p90 = np.percentile(p.us(), [10, 50, 90])
    print(f"{p.batch:>6} {p50:>8.2f} {p10:>8.2f} {p90:>8.2f} {2 * p.batch * IN * OUT / p50 / 1e6:>18.3f} {1e3 * p.batch / p50:>9.0f} {errors[p.batch]:>9.1e}")
