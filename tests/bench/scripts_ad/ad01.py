"""How long does our RMSNorm take when the serving engine runs it on its side stream?

The engine keeps the default stream for the copies and issues all of the compute on a stream of its own, so the
norm is timed in the same setting. Each sample is a burst of calls between two host clock readings; the figure is
the burst divided by the number of calls. Inputs stay the same within a shape (warm L2, as behind a matmul).
"""
import logging
import time

import numpy as np
import torch
import torch_npu

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("rmsnorm")

SHAPES = [(256, 2048), (512, 4096), (1024, 4096)]
BURST = 5
SAMPLES = 12


class RMSNorm(torch.nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x * scale * self.weight


class StreamClock:
    """Bursts on the engine's stream, read with the host's clock."""

    def __init__(self, stream):
        self.stream = stream
        self.fence = torch.npu.default_stream()

    def burst(self, function, count):
        self.fence.synchronize()
        begin = time.perf_counter()
        with torch.npu.stream(self.stream):
            for _ in range(count):
                function()
        self.fence.synchronize()
        return (time.perf_counter() - begin) / count * 1e6

    def sample(self, function, samples, count):
        for _ in range(3):
            self.burst(function, count)
        torch.npu.synchronize()
        out = []
        for _ in range(samples):
            out.append(self.burst(function, count))
        torch.npu.synchronize()
        return np.array(out)


@torch.no_grad()
def main():
    torch.manual_seed(3)
    clock = StreamClock(torch.npu.Stream())
    log.info("RMSNorm, float16, %d samples of %d calls, side stream, warm L2", SAMPLES, BURST)
    for rows, width in SHAPES:
        norm = RMSNorm(width).half().npu()
        x = torch.randn(rows, width).half().npu()
        torch.npu.synchronize()
        us = clock.sample(lambda: norm(x), SAMPLES, BURST)
        p10, p50, p90 = np.percentile(us, [10, 50, 90])
        log.info("%4d x %-5d time per call: P50 %.1f us (P10 %.1f, P90 %.1f)", rows, width, p50, p10, p90)


if __name__ == "__main__":
    main()
