# right
import time
from dataclasses import dataclass, field
import torch
import torch_npu
import numpy as np


@dataclass
class Stats:
    laps: list = field(default_factory=list)

    def add(self, seconds):
        self.laps.append(seconds * 1e6)

    def __str__(self):
        a = np.asarray(self.laps)
        return f"n={a.size} P50={np.percentile(a, 50):.2f} P90={np.percentile(a, 90):.2f} P99={np.percentile(a, 99):.2f} us"


class Bench:
    def __init__(self, fn, inner=32):
        self.fn, self.inner = fn, inner

    def lap(self):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(self.inner):
            self.fn()
        torch.npu.synchronize()
        return (time.perf_counter() - t) / self.inner

    def run(self, warm=4, laps=16):
        for _ in range(warm):
            self.lap()
        stats = Stats()
        for _ in range(laps):
            stats.add(self.lap())
        return stats


for b, h in [(1, 64), (7, 129), (64, 512)]:
    w = torch.randn(h, h).npu()
    x = torch.randn(b, h).npu()
    print(b, h, Bench(lambda: torch.nn.functional.linear(x, w)).run())
