"""Per-iteration time of the losses we use, as they run inside the training graph."""
from dataclasses import dataclass
import time

import numpy as np
import torch
import torch.nn.functional as F

import labkit  # noqa: F401


@dataclass
class Result:
    loss: str
    n: int
    c: int
    ms: np.ndarray

    def __str__(self):
        return (f"{self.loss:10s} {self.n}x{self.c}: steady {self.ms.mean():.3f} ms/iteration, "
                f"sd {self.ms.std(ddof=1):.3f}, {len(self.ms)} windows")


def focal(logits, y):
    ce = F.cross_entropy(logits, y, reduction="none")
    return ((1 - torch.exp(-ce)) ** 2 * ce).mean()


def smoothed(logits, y):
    lp = F.log_softmax(logits, -1)
    nll = -lp.gather(1, y[:, None]).squeeze(1)
    return (0.9 * nll - 0.1 * lp.mean(-1)).mean()


class Runner:
    def __init__(self, fn):
        self.fn = fn
        self.graph = torch.compile(fn, dynamic=False)

    def warm_up(self, *batch, times=8):
        for _ in range(times):
            self.fn(*batch)
        torch.npu.synchronize()

    def windows(self, *batch, count=6, iters=8):
        ms = []
        for _ in range(count):
            t0 = time.perf_counter()
            for _ in range(iters):
                self.graph(*batch)
            torch.npu.synchronize()
            ms.append((time.perf_counter() - t0) / iters * 1e3)
        return np.array(ms)


@torch.no_grad()
def main():
    n, c = 512, 100
    logits = torch.randn(n, c, device="npu")
    y = torch.randint(0, c, (n,), device="npu")
    for fn in (focal, smoothed):
        r = Runner(fn)
        r.warm_up(logits, y)
        print(Result(fn.__name__, n, c, r.windows(logits, y)))


main()
