"""Training loop of a small regression; time per step, batch 64 and 512, features 32; P50/P90 of 15 epochs of 10 steps."""
import time
import numpy as np
import torch
import torch_npu

for batch in (64, 512):
    model = torch.nn.Linear(32, 1).npu()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.ones(batch, 32).npu(), torch.zeros(batch, 1).npu()

    def step():
        opt.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        opt.step()
        return loss

    for _ in range(5):
        step()
    history, us = [], []
    for epoch in range(15):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(10):
            history.append(step().item())
        torch.npu.synchronize()
        us.append((time.perf_counter() - t) * 1e5)
    print(batch, "x 32: step P50, P90 =", np.percentile(us, [50, 90]).round(1), "us")
