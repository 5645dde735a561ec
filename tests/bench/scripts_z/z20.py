import argparse
import time
from statistics import median

import torch
import torch.nn as nn
import torch_npu


def batches(count, size, features, generator):
    for _ in range(count):
        x = torch.randn(size, features, generator=generator)
        yield x, x.sum(dim=1, keepdim=True)


class Trainer:
    """Our training loop, unshortened: data are drawn on the host, copied, and the loss is read after each step (early stopping)."""

    def __init__(self, features, patience=1000):
        self.model = nn.Sequential(nn.Linear(features, 128), nn.SiLU(), nn.Linear(128, 1)).npu()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)
        self.best, self.since, self.patience = float("inf"), 0, patience

    def epoch(self, data):
        for x, y in data:
            self.optimizer.zero_grad()
            loss = nn.functional.mse_loss(self.model(x.npu()), y.npu())
            loss.backward()
            self.optimizer.step()
            value = loss.item()
            self.best, self.since = (value, 0) if value < self.best else (self.best, self.since + 1)
            if self.since > self.patience:
                break


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20, help="steps an epoch")
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--sizes", default="32x64,128x64,128x512")
    args = parser.parse_args()
    generator = torch.Generator().manual_seed(4)
    print(f"End to end: drawing a batch on the host, copying it, training step with SGD, reading the loss. {args.epochs} epochs of {args.steps} steps.")
    for size, features in (map(int, text.split("x")) for text in args.sizes.split(",")):
        trainer = Trainer(features)
        trainer.epoch(batches(10, size, features, generator))
        ms = []
        for _ in range(args.epochs):
            begin = time.perf_counter()
            trainer.epoch(batches(args.steps, size, features, generator))
            torch.npu.synchronize()
            ms.append((time.perf_counter() - begin) / args.steps * 1e3)
        ms.sort()
        print(f"  batch {size:4d}, {features:4d} features, float32: {median(ms):.3f} ms a step of the whole loop, epochs from {ms[0]:.3f} to {ms[-1]:.3f}")


if __name__ == "__main__":
    main()
