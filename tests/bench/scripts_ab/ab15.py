"""Evaluation epoch of the compiled regression net on its validation set."""
import time

import numpy as np
import torch
import torch_npu
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)

EPOCHS = 6


class Net(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(features, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.out = nn.Linear(64, 1)

    def forward(self, x, y):
        return (self.out(self.inner(x)).squeeze(-1) - y).square().sum()


def epoch(step, batches):
    total = torch.zeros((), device="npu")
    for x, y in batches:
        total += step(x, y)
    return total


@torch.no_grad()
def evaluate(features, rows, batch):
    torch.manual_seed(features)
    data = TensorDataset(torch.randn(rows, features), torch.randn(rows))
    batches = [(x.npu(), y.npu()) for x, y in DataLoader(data, batch_size=batch)]     # on the device before the clock
    step = torch.compile(Net(features).npu().eval())

    x, y = batches[0]
    total = torch.zeros((), device="npu")
    for _ in range(10):
        total += step(x, y)
    torch.npu.synchronize()

    ms = []
    for _ in range(EPOCHS):
        begin = time.perf_counter()
        epoch(step, batches)
        torch.npu.synchronize()
        ms.append(1e3 * (time.perf_counter() - begin))
    return np.array(ms), len(batches)


print("evaluation epoch, torch.compile, data resident on the device")
for features, rows, batch in ((16, 1000, 128), (32, 1000, 192)):
    torch._dynamo.reset()
    ms, steps = evaluate(features, rows, batch)
    print(f"  {features} features, {rows} rows in {steps} batches of up to {batch}: mean {ms.mean():.2f} ms an epoch, "
          f"stdev {ms.std(ddof=1):.2f}, min {ms.min():.2f}, max {ms.max():.2f}, n={len(ms)} epochs")
