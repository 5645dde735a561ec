"""All runs of both candidates are drawn as one list; a generator hands the times out."""

import random
import time

import numpy as np
import torch
import torch_npu  # noqa: F401


class Candidate:
    def __init__(self, name, function):
        self.name, self.function, self.us = name, function, []

    def __call__(self, x):
        for _ in range(20):
            self.function(x)
        torch.npu.synchronize()


def runs(candidates, x, each):
    deck = candidates * each
    random.Random(7).shuffle(deck)
    for candidate in deck:
        torch.npu.synchronize()
        before = time.perf_counter()
        candidate(x)
        yield candidate, (time.perf_counter() - before) * 1e6 / 20


for shape in ((256, 2048), (2048, 256)):
    x = torch.rand(shape).npu()
    candidates = [Candidate("mean", lambda x: x.mean(-1)), Candidate("sum / n", lambda x: x.sum(-1) / x.shape[-1])]
    for _ in runs(candidates, x, 2):
        pass
    for candidate, us in runs(candidates, x, 25):
        candidate.us.append(us)
    first, second = (np.array(candidate.us) for candidate in candidates)
    print(f"float32 {shape}, data stays warm in L2, drawn order")
    for candidate in candidates:
        print(f"  {candidate.name}: P10, P50, P90 = {np.percentile(candidate.us, [10, 50, 90]).round(2)} us")
    print(f"  sum / n takes {np.median(second) / np.median(first):.2f} times as long")
