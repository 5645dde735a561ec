"""End-to-end training throughput of a small CNN: host batches, H2D copy, forward, backward, update."""
import argparse
import time

import labkit  # noqa: F401
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.c2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 7 * 7, 10)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.c1(x)), 2)
        x = F.max_pool2d(torch.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


def epoch(model, opt, loader):
    for x, y in loader:
        x, y = x.npu(), y.npu()
        opt.zero_grad(set_to_none=True)
        F.cross_entropy(model(x), y).backward()
        opt.step()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batch", type=int, nargs="+", default=[32, 64])
    ap.add_argument("--samples", type=int, default=384)
    ap.add_argument("--epochs", type=int, default=15)
    args = ap.parse_args()
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(args.samples, 1, 28, 28),
                         torch.randint(0, 10, (args.samples,)))
    print("end to end: shuffling and collating on the host, the copies to the device, forward, "
          "backward and SGD all count; 1x28x28 float32; one wait at the end of an epoch")
    for batch in args.batch:
        model = SmallCNN().npu().train()
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        loader = DataLoader(data, batch_size=batch, shuffle=True, drop_last=True)
        seen = len(loader) * batch
        for _ in range(2):
            epoch(model, opt, loader)
        rate = []
        for _ in range(args.epochs):
            torch.npu.synchronize()
            t0 = time.perf_counter()
            epoch(model, opt, loader)
            torch.npu.synchronize()
            rate.append(seen / (time.perf_counter() - t0))
        p10, p50, p90 = np.percentile(rate, [10, 50, 90])
        print(f"batch={batch}: {p50:.0f} samples/s (median of {args.epochs} epochs of {seen} "
              f"samples; p10 {p10:.0f}, p90 {p90:.0f})")


if __name__ == "__main__":
    main()
