"""Training throughput meter for a small MLP classifier."""
import argparse
import logging
import time

import labkit  # noqa: F401
import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("train")


def sync():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


class AverageMeter:
    def __init__(self):
        self.vals = []

    def update(self, v):
        self.vals.append(v)

    @property
    def avg(self):
        return sum(self.vals) / len(self.vals)

    @property
    def span(self):
        return min(self.vals), max(self.vals)


def train_step(model, opt, loss_fn, x, y):
    opt.zero_grad(set_to_none=True)
    loss = loss_fn(model(x), y)
    loss.backward()
    opt.step()
    return loss


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batch", type=int, default=2048)
    ap.add_argument("--warmup", type=int, default=4)
    ap.add_argument("--windows", type=int, default=3)
    ap.add_argument("--steps", type=int, default=4)
    args = ap.parse_args()

    model = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 100)).to("npu")
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    loss_fn = nn.CrossEntropyLoss()
    data = [(torch.randn(args.batch, 1024, device="npu"),
             torch.randint(0, 100, (args.batch,)).to("npu")) for _ in range(4)]

    for i in range(args.warmup):
        loss = train_step(model, opt, loss_fn, *data[i % 4])
    log.info("warm-up done, loss %.4f", loss.item())

    meter = AverageMeter()
    for _ in range(args.windows):
        sync()
        end = time.perf_counter()
        for i in range(args.steps):
            loss = train_step(model, opt, loss_fn, *data[i % 4])
        sync()
        meter.update(args.batch * args.steps / (time.perf_counter() - end))

    lo, hi = meter.span
    log.info("training throughput, batch %d: %.0f samples/s (windows %.0f .. %.0f)",
             args.batch, meter.avg, lo, hi)
    log.info("final loss %.4f", loss.item())


if __name__ == "__main__":
    main()
