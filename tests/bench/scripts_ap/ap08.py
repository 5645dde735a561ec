"""One training step of a small convolutional net: forward, backward, SGD. Data is on the device beforehand."""
import statistics
import time

import torch
from torch import nn
import torch_npu

torch.manual_seed(0)
dev = torch.device("npu:0")


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Conv2d(3, width, 3, padding=1)
        self.b = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.head = nn.Linear(2 * width, 10)

    def forward(self, x):
        x = torch.relu(self.a(x))
        x = torch.relu(self.b(x))
        return self.head(x.mean(dim=(2, 3)))


def train(batch, side, width=16, warmup=12, steps=60):
    net = Net(width).to(dev)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    loss_fn = nn.CrossEntropyLoss()
    batches = [(torch.randn(batch, 3, side, side).to(dev), torch.randint(0, 10, (batch,)).to(dev)) for _ in range(6)]

    def step(i):
        x, y = batches[i % len(batches)]
        opt.zero_grad(set_to_none=True)
        loss = loss_fn(net(x), y)
        loss.backward()
        opt.step()
        return loss.detach()

    early = [step(i) for i in range(warmup)]
    torch.npu.synchronize()
    ms, late = [], []
    for i in range(steps):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        late.append(step(i))
        torch.npu.synchronize()
        ms.append((time.perf_counter() - t0) * 1e3)
    first, last = torch.stack(early[:6]).mean().item(), torch.stack(late[-6:]).mean().item()
    assert last == last and last < first, "the net does not learn: what was timed is not training"
    return ms, first, last


for batch, side in [(4, 16), (8, 16), (8, 32)]:
    ms, first, last = train(batch, side)
    cut = statistics.quantiles(ms, n=10)
    print(f"conv2d training step fp32, batch {batch}, {side}x{side} images, 6 batches in turn (hot in L2), no data loading: "
          f"median {statistics.median(ms):.4f} ms (p10 {cut[0]:.4f}, p90 {cut[8]:.4f}, {len(ms)} steps after warm-up), "
          f"{batch * len(ms) / sum(ms) * 1e3:,.0f} images/s over all steps; loss {first:.3f} -> {last:.3f}")
