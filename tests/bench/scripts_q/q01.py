"""Does one merged projection beat three separate ones? 256 tokens, hidden size 1024, float32, weights warm in the L2."""
import random

import numpy as np
import torch
import torch_npu  # noqa: F401
from torch import nn

TOKENS, HIDDEN, KV = 256, 1024, 256


class Separate(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(HIDDEN, HIDDEN) for _ in range(3))

    def forward(self, x):
        return self.q(x), self.k(x), self.v(x)


class Merged(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(HIDDEN, HIDDEN + 2 * KV)

    def forward(self, x):
        return self.qkv(x).split([HIDDEN, KV, KV], dim=-1)


class Duel:
    """Two modules, timed by events, a pair at a time, in drawn order."""

    def __init__(self, first, second, x, seed=7):
        self.modules, self.x, self.dice = (first.npu().eval(), second.npu().eval()), x, random.Random(seed)

    def warm_up(self, calls=10):
        for _ in range(calls):
            for module in self.modules:
                module(self.x)
        torch.npu.synchronize()

    def run(self, pairs=40):
        marks = []
        for _ in range(pairs):
            pair = {}
            for index in self.dice.sample((0, 1), 2):
                start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
                start.record()
                self.modules[index](self.x)
                end.record()
                pair[index] = start, end
            marks.append(pair)
        torch.npu.synchronize()
        return np.array([[1e3 * p[i][0].elapsed_time(p[i][1]) for i in (0, 1)] for p in marks])


if __name__ == "__main__":
    torch.manual_seed(0)
    with torch.no_grad():
        duel = Duel(Separate(), Merged(), torch.rand(TOKENS, HIDDEN).npu())
        duel.warm_up()
        us = duel.run()
    for name, column in zip(("separate", "merged"), us.T):
        p10, p50, p90 = np.percentile(column, [10, 50, 90])
        print(f"{name:9} P10 {p10:6.1f}  P50 {p50:6.1f}  P90 {p90:6.1f} us   n={len(column)}")
    low, mid, high = np.percentile(us[:, 0] / us[:, 1], [10, 50, 90])
    print(f"{TOKENS} tokens x {HIDDEN}: merging the projections makes them {mid:.2f} times as fast ({low:.2f} to {high:.2f})")
