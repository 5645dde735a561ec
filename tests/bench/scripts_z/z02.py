import argparse
import statistics
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch_npu


@dataclass
class Row:
    batch: int
    step_us: list = field(default_factory=list)

    @property
    def median(self):
        return statistics.median(self.step_us)

    def __str__(self):
        low, high = min(self.step_us), max(self.step_us)
        return (f"batch {self.batch:4d} of 3 x 32 x 32: {self.median:9.1f} us a forward pass ({low:.1f} to {high:.1f}), "
                f"{self.batch / self.median * 1e6:12,.0f} images/s")


def make_net():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    ).eval().npu()


def measure(net, images, rounds, steps):
    for _ in range(5):
        net(images)
    torch.npu.synchronize()
    for _ in range(rounds):
        begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(steps):
            net(images)
        end.record()
        end.synchronize()
        yield begin.elapsed_time(end) * 1e3 / steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, nargs="+", default=[16, 64, 128, 256])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=6)
    args = parser.parse_args()

    torch.manual_seed(0)
    held_out = torch.randn(100, 3, 32, 32)
    net = make_net()
    rows = []
    with torch.inference_mode():
        for batch in args.batches:
            images = held_out[:batch].npu()
            rows.append(Row(batch, list(measure(net, images, args.rounds, args.steps))))
    print(f"Small CNN, float32, forward pass; median and range of {args.rounds} rounds of {args.steps} passes, inputs on the card, L2 warm")
    for row in rows:
        print(" ", row)


if __name__ == "__main__":
    main()
