"""rms_norm: rows a second of the fused operator and of the composed formula, over a duration."""
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

EPS = 1e-6
SECONDS, REPEATS, CHUNK = 0.002, 10, 16


class Composed:
    title = "composed"

    def __init__(self, x, weight):
        self.x, self.weight = x.npu(), weight.npu()

    def __call__(self):
        x = self.x
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * self.weight


class Fused:
    title = "fused"

    def __init__(self, x, weight):
        self.x, self.weight = x.half().npu(), weight.half().npu()

    def __call__(self):
        return F.rms_norm(self.x, self.weight.shape, self.weight, EPS)


def rows_a_second(way):
    """Chunks of calls until the time is up, then one wait, which is counted."""
    torch.npu.synchronize()
    start, calls = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        for _ in range(CHUNK):
            way()
        calls += CHUNK
    torch.npu.synchronize()
    return calls * way.x.shape[0] / (time.perf_counter() - start)


def study(rows, width):
    torch.manual_seed(rows + width)
    x, weight = torch.randn(rows, width), torch.rand(width) + 0.5
    ways = [Composed(x, weight), Fused(x, weight)]
    results = [way().float().cpu() for way in ways]
    torch.testing.assert_close(*results, rtol=1e-2, atol=1e-2)
    for way in ways:
        rows_a_second(way)
    rates = np.empty((REPEATS, 2))
    for r in range(REPEATS):
        for i in (0, 1) if r % 2 else (1, 0):
            rates[r, i] = rows_a_second(ways[i])
    for way, rate in zip(ways, rates.T):
        print(f"  {way.title:9} {np.median(rate) / 1e6:8.3f} million rows/s   range {rate.min() / 1e6:.3f} .. {rate.max() / 1e6:.3f}")
    gain = rates[:, 1] / rates[:, 0]
    print(f"  the fused operator does {np.median(gain):.2f} times the rows of the composed formula ({gain.min():.2f} .. {gain.max():.2f})")


print(f"rms_norm of float32 activations, same input (hot L2), {REPEATS} turns of {SECONDS * 1e3:.0f} ms for each way, alternating")
for shape in (256, 512), (512, 1024):
    print("{} rows of {}".format(*shape))
    study(*shape)
