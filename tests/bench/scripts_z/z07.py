import argparse
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_npu


class Classifier(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 256), nn.LayerNorm(256), nn.GELU(), nn.Linear(256, 256), nn.GELU())
        self.head = nn.Linear(256, classes)

    def forward(self, x):
        return self.head(self.body(x))


class Bench:
    def __init__(self, batch, width, classes):
        self.model = Classifier(width, classes).npu()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.x = torch.randn(batch, width).npu()
        self.y = torch.randint(0, classes, (batch,)).npu()

    def warm_up(self, passes):
        self.model.eval()
        with torch.no_grad():
            for _ in range(passes):
                self.model(self.x)
        torch.npu.synchronize()
        self.model.train()

    def train_step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(self.model(self.x), self.y)
        loss.backward()
        self.optimizer.step()

    def round(self, steps):
        torch.npu.synchronize()
        begin = time.perf_counter()
        for _ in range(steps):
            self.train_step()
        torch.npu.synchronize()
        return (time.perf_counter() - begin) / steps * 1e3


def parse():
    p = argparse.ArgumentParser(description="training step of a small classifier")
    p.add_argument("--batch", type=int, nargs="+", default=[32, 128])
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--warmup", type=int, default=25)
    return p.parse_args()


if __name__ == "__main__":
    args = parse()
    for batch in args.batch:
        bench = Bench(batch, 384, 20)
        bench.warm_up(args.warmup)
        ms = [bench.round(args.steps) for _ in range(args.rounds)]
        print(f"batch {batch:4d}, 384 features, 20 classes, float32: {statistics.mean(ms):.3f} +- {statistics.stdev(ms):.3f} ms a training step "
              f"(forward, backward, AdamW), {args.rounds} rounds of {args.steps} steps after {args.warmup} passes of warm-up")
