"""Request latency of the scoring service, one request at a time.

What a caller sees: the vector arrives on the host, goes to the card, passes
the net, and the score is back in Python. The copies and the wait are part of
a request and are in the figure on purpose.
"""
import sys
import time

import torch
from torch import nn

import labkit  # noqa: F401


def percentile(sorted_values, p):
    i = min(len(sorted_values) - 1, int(round(p / 100 * (len(sorted_values) - 1))))
    return sorted_values[i]


class Service:
    def __init__(self):
        self.net = nn.Sequential(
            nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512),
            nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 8),
        ).to("npu", torch.bfloat16).eval()

    @torch.inference_mode()
    def handle(self, vec):
        y = self.net(vec.to("npu", torch.bfloat16))
        return y.softmax(-1).float().cpu()      # .cpu() blocks until the answer is there


def main(requests=120, warm=20):
    svc = Service()
    pool = [torch.randn(1, 256) for _ in range(requests)]
    for vec in pool[:warm]:
        svc.handle(vec)

    lat = []
    for vec in pool:
        t0 = time.perf_counter()
        svc.handle(vec)
        lat.append((time.perf_counter() - t0) * 1e6)

    s = sorted(lat)
    q1, q3 = percentile(s, 25), percentile(s, 75)
    fence = q3 + 3 * (q3 - q1)
    far = [v for v in lat if v > fence]
    w = sys.stdout.write
    w(f"end-to-end request latency, concurrency 1, {requests} requests after {warm} to warm up\n")
    for p in (50, 90, 99, 100):
        w(f"  p{p:<3d} {percentile(s, p):9.1f} us\n")
    w(f"  {len(far)} requests above {fence:.1f} us (q3 + 3 iqr); all are kept in the figures above\n")


main()
