"""Serving latency of a small ranking model, one request in flight.

Latency is what a caller sees: host tensor in, host tensor out.
"""
import argparse
import logging
import time

import labkit  # noqa: F401
import numpy as np
import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("serve")


class Ranker(nn.Module):
    def __init__(self, dim=512, hidden=2048):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class Server:
    def __init__(self, device):
        self.device = device
        self.model = Ranker().to(device).eval()

    @torch.inference_mode()
    def handle(self, payload):
        x = payload.to(self.device)
        scores = self.model(x)
        return scores.cpu()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--requests", type=int, default=60)
    ap.add_argument("--warmup", type=int, default=10)
    ap.add_argument("--candidates", type=int, default=256)
    args = ap.parse_args()

    server = Server("npu")
    payloads = [torch.randn(args.candidates, 512) for _ in range(8)]

    for i in range(args.warmup):
        server.handle(payloads[i % len(payloads)])
    torch.npu.synchronize()

    lat = []
    for i in range(args.requests):
        payload = payloads[i % len(payloads)]
        t0 = time.perf_counter()
        server.handle(payload)
        torch.npu.synchronize()
        lat.append((time.perf_counter() - t0) * 1e3)

    lat = np.array(lat)
    log.info("request latency, %d candidates, concurrency 1, H2D and D2H included, n=%d",
             args.candidates, len(lat))
    for q in (50, 90, 99):
        log.info("  p%d  %.3f ms", q, np.percentile(lat, q))
    log.info("  min %.3f ms  max %.3f ms", lat.min(), lat.max())


if __name__ == "__main__":
    main()
