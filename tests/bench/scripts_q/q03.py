"""How does the time of a training step grow with the batch? An MLP 128-1024-10 with SGD; CSV on stdout."""
import csv
import sys
import time
from dataclasses import asdict, dataclass, fields

import numpy as np
import torch
import torch_npu  # noqa: F401
from torch import nn

WARM, STEPS = 3, 15


@dataclass
class Row:
    batch: int
    steps: int
    p10_us: float
    p50_us: float
    p90_us: float
    samples_per_s: float


def build():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(128, 1024), nn.GELU(), nn.LayerNorm(1024), nn.Linear(1024, 10)).npu()
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


def train_step(model, optimizer, x, y):
    optimizer.zero_grad(set_to_none=True)
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()


def run(batch):
    model, optimizer = build()
    x, y = torch.rand(batch, 128).npu(), torch.rand(batch, 10).npu()
    for _ in range(WARM):
        train_step(model, optimizer, x, y)
    torch.npu.synchronize()
    us = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        train_step(model, optimizer, x, y)
        us.append((time.perf_counter() - begin) * 1e6)
    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    return Row(batch, STEPS, round(p10, 1), round(p50, 1), round(p90, 1), round(batch / p50 * 1e6))


if __name__ == "__main__":
    rows = [run(batch) for batch in (512, 1024, 2048, 4096)]
    writer = csv.DictWriter(sys.stdout, [f.name for f in fields(Row)])
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    growth = rows[-1].p50_us / rows[0].p50_us
    print(f"# from batch {rows[0].batch} to {rows[-1].batch} the step takes {growth:.2f} times as long (P50)")
