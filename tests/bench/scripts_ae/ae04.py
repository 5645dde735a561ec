"""Training throughput of the small regression MLP (batch 64, 256 -> 512 -> 256, fp32, AdamW)."""
import dataclasses
import time

import numpy as np
import torch
from torch import nn
import labkit  # noqa: F401


@dataclasses.dataclass
class Config:
    batch: int = 64
    width: int = 256
    hidden: int = 512
    warmup: int = 16
    steps: int = 96
    rounds: int = 12


class Trainer:
    def __init__(self, cfg):
        torch.manual_seed(0)
        self.cfg = cfg
        self.model = nn.Sequential(nn.Linear(cfg.width, cfg.hidden), nn.GELU(), nn.Linear(cfg.hidden, cfg.width)).npu()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.x = torch.randn(cfg.batch, cfg.width).npu()
        self.y = torch.randn(cfg.batch, cfg.width).npu()

    def forward(self):
        return nn.functional.mse_loss(self.model(self.x), self.y)

    def step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.forward()
        loss.backward()
        self.opt.step()
        return loss.detach()


def warm(trainer):
    """Forward and backward until the device has settled; the weights stay as they were initialised."""
    for _ in range(trainer.cfg.warmup):
        trainer.opt.zero_grad(set_to_none=True)
        trainer.forward().backward()
    torch.npu.synchronize()


def timed_rounds(trainer):
    cfg = trainer.cfg
    per_round = cfg.steps // cfg.rounds
    for _ in range(cfg.rounds):
        start = time.perf_counter()
        for _ in range(per_round):
            loss = trainer.step()
        torch.npu.synchronize()  # once a round, behind its last step
        yield time.perf_counter() - start, per_round, loss


def main():
    cfg = Config()
    trainer = Trainer(cfg)
    warm(trainer)
    spans = list(timed_rounds(trainer))
    seconds = np.array([s for s, _, _ in spans])
    steps = sum(n for _, n, _ in spans)
    rates = np.array([cfg.batch * n / s for s, n, _ in spans])
    print(f"loss after {steps} steps: {spans[-1][2].item():.4f}")
    print(f"MLP {cfg.width}-{cfg.hidden}-{cfg.width}, batch {cfg.batch}, fp32, AdamW, one device, inputs resident")
    print(f"warm, {cfg.rounds} rounds of {cfg.steps // cfg.rounds} steps: "
          f"quartiles {np.percentile(rates, 25):,.0f} to {np.percentile(rates, 75):,.0f} samples/s by round")
    print(f"steady training throughput: {cfg.batch * steps / seconds.sum():,.0f} samples/s, "
          f"{1e3 * seconds.sum() / steps:.2f} ms a step")


if __name__ == "__main__":
    main()
