"""Wall time of a fine-tuning step as the training loop sees it: upload, forward, backward, AdamW, reading the loss."""
import argparse
import json
import time
from dataclasses import asdict, dataclass, field

import numpy as np
import torch
import torch.nn as nn
import torch_npu


@dataclass
class Summary:
    what: str
    batch: int
    width: int
    dtype: str
    steps: int = 0
    p10_us: float = 0.0
    p50_us: float = 0.0
    p90_us: float = 0.0
    max_us: float = 0.0
    loss_first: float = 0.0
    loss_last: float = 0.0


@dataclass
class Run:
    model: nn.Module
    optimizer: torch.optim.Optimizer
    seconds: list = field(default_factory=list)
    losses: list = field(default_factory=list)

    def step(self, pair):
        begin = time.perf_counter()
        x, y = (t.to("npu", non_blocking=True) for t in pair)
        loss = nn.functional.mse_loss(self.model(x), y)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        torch.npu.synchronize()
        value = loss.item()
        self.seconds.append(time.perf_counter() - begin)
        self.losses.append(value)


def make_batches(count, batch, width, seed):
    rng = torch.Generator().manual_seed(seed)
    teacher = torch.randn(width, width, generator=rng) / width**0.5
    out = []
    for _ in range(count):
        x = torch.randn(batch, width, generator=rng)
        out.append((x.pin_memory(), torch.tanh(x @ teacher).pin_memory()))
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--warm", type=int, default=15)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(args.width, 2 * args.width), nn.GELU(), nn.Linear(2 * args.width, args.width)).to("npu")
    run = Run(model, torch.optim.AdamW(model.parameters(), lr=1e-3))
    batches = make_batches(args.warm + args.steps, args.batch, args.width, seed=1)

    for pair in batches[: args.warm]:
        run.step(pair)
    run.seconds.clear()
    first = run.losses[0]
    for pair in batches[args.warm :]:
        run.step(pair)

    us = 1e6 * np.array(run.seconds)
    assert len(us) == args.steps
    assert run.losses[-1] < 0.7 * first, "does not learn"
    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    result = Summary(
        "wall time of one step with upload and reading the loss", args.batch, args.width,
        str(next(model.parameters()).dtype), len(us), *(round(float(v), 1) for v in (p10, p50, p90, us.max())),
        round(first, 4), round(run.losses[-1], 4),
    )
    print(json.dumps(asdict(result), indent=2))


if __name__ == "__main__":
    main()
