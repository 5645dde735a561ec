"""Closed-loop latency of a small ranking model, as a client of the session sees it."""
import argparse
import time

import labkit  # noqa: F401
import numpy as np
import torch
from torch import nn


class Ranker(nn.Module):
    def __init__(self, features=128, hidden=256):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(features, hidden), nn.GELU(), nn.LayerNorm(hidden),
            nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.body(x).squeeze(-1)


class Session:
    def __init__(self, model):
        self.model = model.npu().eval()

    @torch.inference_mode()
    def infer(self, candidates):
        scores = self.model(torch.from_numpy(candidates).npu())
        torch.npu.synchronize()
        return scores.cpu().numpy()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--requests", type=int, default=300)
    ap.add_argument("--warmup", type=int, default=30)
    ap.add_argument("--candidates", type=int, nargs="+", default=[16, 64, 256])
    args = ap.parse_args()

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    session = Session(Ranker())
    print("request latency: numpy in, numpy out; H2D copy, forward, wait and D2H copy included; "
          "one request in flight; float32, 128 features")
    for n in args.candidates:
        requests = [rng.standard_normal((n, 128), dtype=np.float32)
                    for _ in range(args.requests + args.warmup)]
        for r in requests[:args.warmup]:
            session.infer(r)
        lat = np.empty(args.requests)
        for i, r in enumerate(requests[args.warmup:]):
            begin = time.perf_counter()
            session.infer(r)
            lat[i] = time.perf_counter() - begin
        p50, p90, p99 = np.percentile(lat, [50, 90, 99]) * 1e6
        print(f"candidates={n:4d}  p50 {p50:8.1f}  p90 {p90:8.1f}  p99 {p99:8.1f}  "
              f"max {lat.max() * 1e6:8.1f} us  (n={lat.size}, nothing dropped)")


if __name__ == "__main__":
    main()
