import logging
import time
from contextlib import contextmanager
from statistics import mean, stdev

import torch
from torch import nn

import labkit  # noqa: F401

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("gru")


class Stopwatch:
    def __init__(self):
        self.laps = []

    @contextmanager
    def lap(self, n):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        yield
        torch.npu.synchronize()
        self.laps.append((time.perf_counter() - t0) / n)


class Tagger(nn.Module):
    def __init__(self, d=128, h=128, tags=24):
        super().__init__()
        self.rnn = nn.GRU(d, h, num_layers=1, batch_first=True)
        self.norm = nn.LayerNorm(h)
        self.out = nn.Linear(h, tags)

    def forward(self, x):
        y, _ = self.rnn(x)
        return self.out(self.norm(y)).log_softmax(-1)


def run(batch, length, laps=6, per_lap=4):
    net = Tagger().to("npu").eval()
    x = torch.randn(batch, length, 128, device="npu")
    watch = Stopwatch()
    with torch.no_grad():
        for _ in range(laps):
            with watch.lap(per_lap):
                for _ in range(per_lap):
                    net(x)
    return watch.laps


if __name__ == "__main__":
    log.info("GRU tagger, inference, fp32: steady-state time of a forward pass")
    for batch, length in ((16, 16),):
        laps = [s * 1e3 for s in run(batch, length)]
        log.info(
            "batch %d, length %d: mean %.3f ms, sd %.3f ms over %d laps -> %.0f sentences/s sustained",
            batch, length, mean(laps), stdev(laps), len(laps), batch / mean(laps) * 1e3,
        )
