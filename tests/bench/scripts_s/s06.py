"""Steady-state time of one optimisation step of the small autoencoder."""
import argparse
import logging

import labkit  # noqa: F401
import torch
from torch import nn

log = logging.getLogger("step")


class AutoEncoder(nn.Module):
    def __init__(self, dim, code):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(dim, 128), nn.ReLU(), nn.Linear(128, code))
        self.decode = nn.Sequential(nn.Linear(code, 128), nn.ReLU(), nn.Linear(128, dim))

    def forward(self, x):
        return self.decode(self.encode(x))


class Trainer:
    def __init__(self, args):
        self.model = AutoEncoder(args.dim, args.code).npu().train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.loss = nn.MSELoss()

    def step(self, x):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.model(x), x)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--dim", type=int, default=256)
    ap.add_argument("--code", type=int, default=16)
    ap.add_argument("--steps", type=int, default=10)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(3)

    trainer = Trainer(args)
    batches = [torch.randn(args.batch, args.dim, device="npu") for _ in range(args.steps)]
    marks = [torch.npu.Event(enable_timing=True) for _ in range(args.steps + 1)]
    losses = []
    torch.npu.synchronize()
    marks[0].record()
    for mark, x in zip(marks[1:], batches):
        losses.append(trainer.step(x))
        mark.record()
    torch.npu.synchronize()

    ms = torch.tensor([a.elapsed_time(b) for a, b in zip(marks, marks[1:])], dtype=torch.float64)
    log.info("batch=%d dim=%d code=%d fp32 AdamW, batches already on the device",
             args.batch, args.dim, args.code)
    log.info("steady-state step time: mean %.3f ms, sd %.3f, p90 %.3f (n=%d)",
             ms.mean(), ms.std(), ms.quantile(0.9), len(ms))
    log.info("steady-state throughput: %.0f samples/s", args.batch / ms.mean() * 1e3)
    log.info("loss %.4f -> %.4f", losses[0].item(), losses[-1].item())


if __name__ == "__main__":
    main()
