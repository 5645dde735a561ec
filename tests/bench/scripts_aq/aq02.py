"""Time of one whole training step (zero_grad, forward, backward, SGD) of a tiny model with a cumsum."""
import statistics
import time

import torch
import torch_npu
from torch import nn

torch.manual_seed(0)
WARM, STEPS = 6, 20


class Running(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inp = nn.Linear(width, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(torch.cumsum(self.inp(x), dim=1) / x.shape[1])


def step(model, optimiser, x, y):
    optimiser.zero_grad()
    loss = (model(x) - y).pow(2).mean()
    loss.backward()
    optimiser.step()
    return loss.detach()


for batch, length, width in [(4, 64, 64), (8, 128, 64), (8, 128, 128)]:
    model = Running(width).to("npu")
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-2)
    data = [(torch.randn(batch, length, width, device="npu"),
             torch.randn(batch, length, 1, device="npu")) for _ in range(8)]
    for i in range(WARM):
        first = step(model, optimiser, *data[i % 8])
    torch.npu.synchronize()

    took = []
    for i in range(STEPS):
        x, y = data[i % 8]
        torch.npu.synchronize()
        t0 = time.perf_counter()
        loss = step(model, optimiser, x, y)
        torch.npu.synchronize()
        took.append((time.perf_counter() - t0) * 1e6)
    assert torch.isfinite(loss).item()
    q1, q2, q3 = statistics.quantiles(took, n=4)
    print(f"batch {batch} x {length} x {width} fp32: training step with a wait after each, "
          f"median {q2:.1f} us, quartiles {q1:.1f} to {q3:.1f} us, n={STEPS}")
print("One step = zero_grad + forward + backward + SGD update; batches already on the device, "
      "8 of them in turn and small enough to stay in L2. Nothing is claimed for other sizes.")
