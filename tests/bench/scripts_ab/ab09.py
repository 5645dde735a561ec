"""Training step of the tabular MLP: host time per step, everything from zero_grad to the end of the update."""
import csv
import statistics
import sys
import time

import torch
import torch_npu
from torch import nn

STEPS = 25


class Tabular(nn.Module):
    def __init__(self, features, hidden=128, classes=10):
        super().__init__()
        self.layers = nn.Sequential(nn.BatchNorm1d(features), nn.Linear(features, hidden), nn.ReLU(),
                                    nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, x):
        return self.layers(x)


class Trainer:
    def __init__(self, batch, features):
        torch.manual_seed(0)
        self.model = Tabular(features).npu().train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.loss = nn.CrossEntropyLoss()
        self.x = torch.randn(batch, features, device="npu")
        self.y = torch.randint(0, 10, (batch,), device="npu")

    def prepare(self, rounds=10):
        for _ in range(rounds):
            self.loss(self.model(self.x), self.y)
        torch.npu.synchronize()

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.model(self.x), self.y)
        loss.backward()
        self.optimizer.step()
        return loss

    def timed(self, steps):
        out = []
        for _ in range(steps):
            begin = time.perf_counter()
            self.step()
            torch.npu.synchronize()
            out.append(1e3 * (time.perf_counter() - begin))
        return out


writer = csv.writer(sys.stdout)
writer.writerow(["batch", "features", "mean_ms_per_step", "stdev_ms", "steps"])
for batch, features in ((32, 64), (64, 64), (64, 128)):
    trainer = Trainer(batch, features)
    trainer.prepare()
    ms = trainer.timed(STEPS)
    writer.writerow([batch, features, f"{statistics.mean(ms):.3f}", f"{statistics.stdev(ms):.3f}", len(ms)])
