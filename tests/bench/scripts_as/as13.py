"""Batch sweep of the MLP head that runs beside the main model, on a stream of its own."""
import statistics

import torch
from torch import nn
import torch_npu  # noqa: F401

torch.set_num_threads(1)
BATCHES = (16, 64, 128, 256)
CALLS, ROUNDS = 6, 3


class Head(nn.Module):
    def __init__(self, width=256, hidden=1024):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        x = nn.functional.gelu(self.up(x))
        x = nn.functional.gelu(self.mid(x))
        return self.down(x)


class SideRunner:
    def __init__(self, model):
        self.model = model
        self.stream = torch.npu.Stream()

    @torch.no_grad()
    def __call__(self, x):
        with torch.npu.stream(self.stream):
            return self.model(x)


def sample(runner, x):
    started, finished = (torch.npu.Event(enable_timing=True) for _ in "ab")
    started.record()
    for _ in range(CALLS):
        runner(x)
    finished.record()
    finished.synchronize()
    us = started.elapsed_time(finished) * 1e3 / CALLS
    torch.npu.synchronize()
    return us


def main():
    torch.manual_seed(4)
    runner = SideRunner(Head().npu().eval())
    rows = []
    for batch in BATCHES:
        x = torch.randn(batch, 256).npu()
        torch.npu.synchronize()
        sample(runner, x)
        rows.append((batch, statistics.median(sample(runner, x) for _ in range(ROUNDS))))

    print(f"### MLP head, float32, {torch.npu.get_device_name()}\n")
    print(f"Device time of one forward pass, median of {ROUNDS} rounds of {CALLS}.\n")
    print("| batch | us / forward | rows / s |")
    print("|------:|-------------:|---------:|")
    for batch, us in rows:
        print(f"| {batch} | {us:.2f} | {batch / us * 1e6:,.0f} |")
    print(f"\nGoing from batch {rows[0][0]} to {rows[-1][0]} makes a forward pass "
          f"{rows[-1][1] / rows[0][1]:.2f} times as long.")


if __name__ == "__main__":
    main()
