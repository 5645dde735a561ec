"""Request latency of the ranking model (upload, forward, download), one client."""
import time
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn as nn
import torch_npu

REQUESTS, WARMUP, ROWS, FEATURES = 100, 20, 32, 512


class Ranker(nn.Module):
    def __init__(self, features, width=512):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, width), nn.ReLU(),
                                  nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return torch.sigmoid(self.body(x)).squeeze(-1)


@dataclass
class LatencyLog:
    name: str
    values: list = field(default_factory=list)

    def add(self, seconds):
        self.values.append(seconds * 1e3)

    def table(self):
        ms = np.sort(np.asarray(self.values))
        mid = np.median(ms)
        mad = np.median(np.abs(ms - mid))
        return ms[ms <= mid + 2.5 * 1.4826 * mad]

    def show(self):
        ms = self.table()
        print(f"{self.name}: {len(self.values)} requests, batch {ROWS}")
        for q in (50, 90, 95):
            print(f"  p{q:<3d} {np.percentile(ms, q):8.3f} ms")
        print(f"  max  {ms[-1]:8.3f} ms")
        print(f"  tail ratio p95/p50 = {np.percentile(ms, 95) / np.median(ms):.2f}")


def handle(model, payload):
    x = payload.to("npu")
    return model(x).cpu()


@torch.inference_mode()
def main():
    torch.manual_seed(1)
    model = Ranker(FEATURES).to("npu").eval()
    payloads = [torch.randn(ROWS, FEATURES) for _ in range(REQUESTS)]
    for p in payloads[:WARMUP]:
        handle(model, p)
    torch.npu.synchronize()

    log = LatencyLog("ranker / npu:0 / fp32")
    for p in payloads:
        t0 = time.perf_counter()
        scores = handle(model, p)
        log.add(time.perf_counter() - t0)
        assert scores.shape == (ROWS,)
    log.show()


if __name__ == "__main__":
    main()
