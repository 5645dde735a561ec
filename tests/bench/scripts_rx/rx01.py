"""Step time of a small tabular regressor on the NPU.

Usage: python step_time.py
"""
import time

import torch
import torch_npu
from torch import nn


class Regressor(nn.Module):
    def __init__(self, features=256, hidden=256):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(features, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, rows):
        return self.body(rows).squeeze(-1)


class StepTimer:
    """Owns model, optimizer and batch; `run` returns seconds from zero_grad to a drained device."""

    def __init__(self, batch=256, lr=1e-3):
        torch.manual_seed(7)
        self.batch = batch
        self.model = Regressor().to("npu")
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.rows = torch.randn(batch, 256).to("npu")
        self.target = self.rows[:, :8].sum(dim=1)
        self.losses = []

    def step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(self.model(self.rows), self.target)
        loss.backward()
        self.opt.step()
        return loss.detach()

    def run(self):
        torch.npu.synchronize()
        began = time.perf_counter()
        loss = self.step()
        torch.npu.synchronize()
        took = time.perf_counter() - began
        self.losses.append(loss)
        return took


def main(steps=40, settle=8):
    timer = StepTimer()
    opening = timer.run()
    for _ in range(settle):
        timer.run()
    laps = torch.tensor([timer.run() for _ in range(steps)], dtype=torch.float64) * 1e3
    p50, p90, p95 = torch.quantile(laps, torch.tensor([0.5, 0.9, 0.95], dtype=torch.float64)).tolist()
    start, end = timer.losses[0].item(), timer.losses[-1].item()
    print(
        f"AdamW step, fp32, batch {timer.batch}, one resident batch (no data loading)\n"
        f"  opening step      {opening * 1e3:9.2f} ms   kernel loading and optimizer state included, not in the rows below\n"
        f"  settled, {steps} steps after another {settle} unrecorded\n"
        f"    median          {p50:9.2f} ms\n"
        f"    90 % / 95 %     {p90:9.2f} / {p95:.2f} ms\n"
        f"    mean +- sd      {laps.mean().item():9.2f} +- {laps.std().item():.2f} ms\n"
        f"  each step ends with a device synchronize and its cost counts as part of the step\n"
        f"  rate at the median {timer.batch / p50 * 1e3:8.0f} rows/s\n"
        f"  loss went from {start:.4f} to {end:.4f} over {len(timer.losses)} steps"
    )


if __name__ == "__main__":
    main()
