"""Training-step cost of one encoder layer (zero_grad, forward, backward, SGD step)."""
import argparse
import time
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn as nn
import torch_npu


@dataclass
class StepClock:
    us: list = field(default_factory=list)

    def __enter__(self):
        torch.npu.synchronize()
        self._t0 = time.perf_counter_ns()
        return self

    def __exit__(self, *exc):
        torch.npu.synchronize()
        self.us.append((time.perf_counter_ns() - self._t0) / 1e6)


class Job:
    def __init__(self, batch, seq, dim, heads):
        self.tokens = batch * seq
        self.layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.0, batch_first=True).to("npu")
        self.opt = torch.optim.SGD(self.layer.parameters(), lr=1e-3)
        self.x = torch.randn(batch, seq, dim, device="npu")
        self.target = torch.randn(batch, seq, dim, device="npu")

    def step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(self.layer(self.x), self.target)
        loss.backward()
        self.opt.step()
        return loss


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--dim", type=int, default=128)
    ap.add_argument("--heads", type=int, default=4)
    ap.add_argument("--warmup", type=int, default=5)
    ap.add_argument("--steps", type=int, default=30)
    args = ap.parse_args()
    torch.manual_seed(0)

    print(f"{'batch':>6s} {'seq':>5s} {'p50 us':>10s} {'p10 us':>10s} {'p90 us':>10s} {'tokens/s':>14s}")
    for batch, seq in [(4, 64), (8, 64), (4, 128)]:
        job = Job(batch, seq, args.dim, args.heads)
        for _ in range(args.warmup):
            job.step()
        clock = StepClock()
        for _ in range(args.steps):
            with clock:
                loss = job.step()
        assert torch.isfinite(loss).item()
        p10, p50, p90 = np.percentile(clock.us, [10, 50, 90])
        print(f"{batch:6d} {seq:5d} {p50:10.1f} {p10:10.1f} {p90:10.1f} {job.tokens / (p50 * 1e-6):14,.0f}")
    print(f"fp32, wall time of a synchronised step, {args.steps} steps per row, data already on the device")


if __name__ == "__main__":
    main()
