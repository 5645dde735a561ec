"""Step time of the adapter fine-tuning: frozen trunk, small adapter, SGD with momentum."""
import time
from contextlib import contextmanager

import numpy as np
import torch
import torch.nn as nn
import torch_npu

BATCH, WIDTH, RANK, CLASSES = 256, 512, 16, 20
WARM, STEPS = 20, 80


class Adapter(nn.Module):
    def __init__(self, width, rank):
        super().__init__()
        self.down = nn.Linear(width, rank, bias=False)
        self.up = nn.Linear(rank, width, bias=False)

    def forward(self, x):
        return x + self.up(torch.tanh(self.down(x)))


class Tuned(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).requires_grad_(False)
        self.adapter = Adapter(WIDTH, RANK)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        return self.head(self.adapter(self.trunk(x)))


class Trainer:
    def __init__(self, model):
        self.model = model
        trained = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.SGD(trained, lr=0.05, momentum=0.9)
        self.criterion = nn.CrossEntropyLoss()
        self.durations = []

    @contextmanager
    def clocked(self):
        torch.npu.synchronize()
        begin = time.perf_counter()
        yield
        torch.npu.synchronize()
        self.durations.append(time.perf_counter() - begin)

    def evaluate(self, x, y):
        with torch.no_grad():
            return self.criterion(self.model(x), y)

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def main():
    torch.manual_seed(0)
    trainer = Trainer(Tuned().npu())
    centres = torch.randn(CLASSES, WIDTH)
    labels = torch.randint(0, CLASSES, (BATCH,))
    x, y = (centres[labels] + 0.5 * torch.randn(BATCH, WIDTH)).npu(), labels.npu()

    for _ in range(WARM):
        before = trainer.evaluate(x, y)
    torch.npu.synchronize()

    for _ in range(STEPS):
        with trainer.clocked():
            trainer.step(x, y)
    after = trainer.evaluate(x, y)
    assert after.item() < 0.8 * before.item(), (before.item(), after.item())

    us = 1e6 * np.array(trainer.durations)
    p50, p90, p99 = np.percentile(us, [50, 90, 99])
    print(f"adapter of rank {RANK} on a trunk of width {WIDTH}, batch {BATCH}, float32, data on the card")
    print(f"a step, wall time with the wait for the card: mean {us.mean():.0f} us, standard deviation {us.std(ddof=1):.0f}, {len(us)} steps")
    print(f"P50 {p50:.0f}  P90 {p90:.0f}  P99 {p99:.0f}  longest {us.max():.0f} us")
    print(f"samples a second at this batch: {BATCH / us.mean() * 1e6:,.0f}")


if __name__ == "__main__":
    main()
