import argparse
import logging
import statistics
from time import perf_counter

import torch
import torch_npu
from torch import nn

log = logging.getLogger("train-throughput")


def parse():
    p = argparse.ArgumentParser(description="Training throughput of a compiled MLP regressor")
    p.add_argument("--steps", type=int, default=25)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--batches", type=int, nargs="+", default=[64, 256])
    p.add_argument("--width", type=int, default=256)
    p.add_argument("--backend", default="npu")
    return p.parse_args()


class Trainer:
    def __init__(self, width, batch, backend, seed):
        torch.manual_seed(seed)
        torch._dynamo.reset()
        self.net = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)).npu()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=1e-3, momentum=0.9)
        self.x = torch.randn(batch, width).npu()
        self.target = torch.randn(batch, width).npu()
        self.step_once(self.net)
        self.step_once(self.net)
        self.model = torch.compile(self.net, backend=backend)

    def step_once(self, model):
        self.optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(model(self.x), self.target)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def run(self, steps):
        torch.npu.synchronize()
        begin = perf_counter()
        for _ in range(steps):
            self.step_once(self.model)
        torch.npu.synchronize()
        return perf_counter() - begin


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(name)s | %(message)s")
    for batch in args.batches:
        rates = []
        for seed in range(args.rounds):
            trainer = Trainer(args.width, batch, args.backend, seed)
            rates.append(batch * args.steps / trainer.run(args.steps))
        log.info("batch %d, width %d, float32: %.0f samples/s sustained, median of %d rounds of %d steps (%.0f to %.0f)",
                 batch, args.width, statistics.median(rates), args.rounds, args.steps, min(rates), max(rates))


if __name__ == "__main__":
    main()
