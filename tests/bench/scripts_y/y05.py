import torch
import torch_npu
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Config:
    batch: int = 256
    width: int = 512
    steps: int = 8
    rounds: int = 20
    lr: float = 1e-3


@dataclass
class Trainer:
    cfg: Config
    losses: list = field(default_factory=list)

    def __post_init__(self):
        torch.manual_seed(11)
        c = self.cfg
        self.x = torch.randn(c.batch, c.width).npu()
        self.y = torch.randn(c.batch, c.width).npu()
        self.w = (torch.randn(c.width, c.width) / c.width**0.5).npu()

    def step(self):
        error = self.x @ self.w - self.y
        gradient = self.x.t() @ error * (2.0 / error.numel())
        self.w.sub_(gradient, alpha=self.cfg.lr)
        self.log(error.square().mean())

    def log(self, loss):
        value = float(loss)
        if value != value:
            raise FloatingPointError("loss is NaN")
        self.losses.append(value)


def measure(trainer):
    c = trainer.cfg
    for _ in range(2 * c.steps):
        trainer.step()
    torch.npu.synchronize()
    marks = []
    for _ in range(c.rounds):
        begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(c.steps):
            trainer.step()
        end.record()
        marks.append((begin, end))
    torch.npu.synchronize()
    return np.array([b.elapsed_time(e) for b, e in marks]) * 1e3 / c.steps


trainer = Trainer(Config())
times = measure(trainer)
c = trainer.cfg
assert trainer.losses[-1] < trainer.losses[0]
p10, p50, p90 = np.percentile(times, [10, 50, 90])
print(f"linear regression step, batch {c.batch} x {c.width}, weight {c.width} x {c.width}, float32, L2 warm")
print(f"device time of the kernels of a step: P10 {p10:.1f} us, P50 {p50:.1f} us, P90 {p90:.1f} us")
print(f"{times.size} samples of {c.steps} steps each, after {2 * c.steps} steps to warm up")
