"""Training step time for three batch sizes, as CSV; the loss is read when the clock has stopped."""
import csv
import statistics
import sys
import time
from dataclasses import asdict, dataclass, fields

import torch
import torch.nn as nn
import torch_npu


@dataclass
class Record:
    batch: int
    accumulate: int
    dtype: str
    steps: int
    rounds: int
    median_ms_per_step: float
    fastest_round_ms: float
    slowest_round_ms: float
    last_loss: float


class Job:
    def __init__(self, batch, accumulate=2, width=128):
        torch.manual_seed(batch)
        self.batch, self.accumulate = batch, accumulate
        self.model = nn.Sequential(nn.Embedding(500, width), nn.Flatten(), nn.Linear(8 * width, width), nn.ReLU(), nn.Linear(width, 10)).npu()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.criterion = nn.CrossEntropyLoss()
        self.tokens = torch.randint(0, 500, (accumulate, batch, 8), device="npu")
        self.labels = torch.randint(0, 10, (accumulate, batch), device="npu")
        self.losses = []

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        for tokens, labels in zip(self.tokens, self.labels):
            loss = self.criterion(self.model(tokens), labels) / self.accumulate
            loss.backward()
            self.losses.append(loss.detach())
        self.optimizer.step()


def clocked(job, steps):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        job.step()
    torch.npu.synchronize()
    elapsed = time.perf_counter() - begin
    latest = sum(loss.item() for loss in job.losses[-job.accumulate:])
    job.losses.clear()
    return elapsed / steps * 1e3, latest


def measure(batch, steps=6, rounds=7):
    job = Job(batch)
    clocked(job, 5)
    results = [clocked(job, steps) for _ in range(rounds)]
    times = [ms for ms, _ in results]
    return Record(batch, job.accumulate, "float32", steps, rounds, round(statistics.median(times), 3), round(min(times), 3), round(max(times), 3),
                  round(results[-1][1], 4))


if __name__ == "__main__":
    print("# one step: zero_grad, 2 x (forward, backward) on data that is on the device already, Adam; host and device together")
    writer = csv.DictWriter(sys.stdout, fieldnames=[f.name for f in fields(Record)])
    writer.writeheader()
    for batch in (16, 64, 256):
        writer.writerow(asdict(measure(batch)))
