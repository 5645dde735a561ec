"""Wall time of a training step of a small classifier, one CSV row a batch size.

The loop reads the loss back in each step (the trainer logs it), and that is part of the step we report.
"""
import csv
import io
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_npu

BATCHES = [32, 128]
WARM, STEPS = 10, 30


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).npu()


def train(batch):
    net = model()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    x = torch.randn(batch, 784).npu()
    y = torch.randint(0, 10, (batch,)).npu()
    walls, losses = [], []
    for _ in range(WARM + STEPS):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        opt.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        losses.append(loss.item())
        torch.npu.synchronize()
        walls.append((time.perf_counter() - t0) * 1e3)
    assert losses[-1] < losses[0]
    return walls[WARM:]


def main():
    sink = io.StringIO()
    table = csv.DictWriter(sink, ["batch", "warmup_steps_not_counted", "steps", "median_ms", "p10_ms", "p90_ms",
                                  "includes"])
    table.writeheader()
    for batch in BATCHES:
        ms = train(batch)
        tenths = statistics.quantiles(ms, n=10)
        mid = statistics.median(ms)
        table.writerow({"batch": batch, "warmup_steps_not_counted": WARM, "steps": len(ms),
                        "median_ms": f"{mid:.3f}", "p10_ms": f"{tenths[0]:.3f}", "p90_ms": f"{tenths[-1]:.3f}",
                        "includes": "zero_grad+forward+backward+AdamW+loss.item()+wait"})
    print(sink.getvalue(), end="")


if __name__ == "__main__":
    main()
