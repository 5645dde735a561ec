"""Depthwise and dense convolutions of the segmentation head, one CSV line for each.

Timed by device events, one pair around each call, one wait behind the loop. Input reused: L2 is warm, as it is in
the network, where the layer before has just written it. Shapes are those of the head, nothing else is claimed.
"""
import csv
import sys
from dataclasses import dataclass, field

import numpy as np
import torch
import torch_npu

CASES = {
    "dense 3x3": dict(channels=16, size=32, groups=1),
    "depthwise 3x3": dict(channels=16, size=32, groups=16),
    "dense 3x3 wide": dict(channels=32, size=32, groups=1),
}


@dataclass
class Series:
    """Durations in seconds, shown in any unit."""

    name: str
    seconds: list = field(default_factory=list)
    scales = {"s": 1.0, "ms": 1e3, "us": 1e6}

    def percentiles(self, unit, which=(10, 50, 90)):
        return np.percentile(self.seconds, which) * self.scales[unit]


def record(name, function, warm=8, count=40):
    series = Series(name)
    for _ in range(warm):
        function()
    torch.npu.synchronize()
    pairs = []
    for _ in range(count):
        begin = torch.npu.Event(enable_timing=True)
        end = torch.npu.Event(enable_timing=True)
        begin.record()
        function()
        end.record()
        pairs.append((begin, end))
    torch.npu.synchronize()
    series.seconds = [begin.elapsed_time(end) * 1e-6 for begin, end in pairs]
    return series


@torch.no_grad()
def main():
    torch.manual_seed(11)
    out = csv.writer(sys.stdout)
    out.writerow(["layer", "channels", "size", "samples", "p10_us", "p50_us", "p90_us"])
    for name, case in CASES.items():
        channels, size = case["channels"], case["size"]
        conv = torch.nn.Conv2d(channels, channels, 3, padding=1, groups=case["groups"]).half().npu()
        x = torch.randn(2, channels, size, size).half().npu()
        series = record(name, lambda: conv(x))
        out.writerow([name, channels, size, len(series.seconds), *(f"{v:.5f}" for v in series.percentiles("us"))])


if __name__ == "__main__":
    main()
