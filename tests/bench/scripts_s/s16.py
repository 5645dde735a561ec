"""Tail latency of the forecaster, one request in flight."""
import json
import time

import labkit  # noqa: F401
import numpy as np
import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, window=96, horizon=24, channels=16):
        super().__init__()
        self.conv = nn.Conv1d(channels, 32, 5, padding=2)
        self.norm = nn.BatchNorm1d(32)
        self.head = nn.Linear(32 * window, horizon)

    def forward(self, x):
        h = torch.relu(self.norm(self.conv(x)))
        return self.head(h.flatten(1))


class Latency:
    def __init__(self):
        self.raw = []

    def __call__(self, fn):
        def timed(*args):
            start = time.perf_counter()
            result = fn(*args)
            self.raw.append(time.perf_counter() - start)
            return result
        return timed

    def values(self):
        v = np.asarray(self.raw)
        return v[v <= 1.2 * np.median(v)]

    def summary(self):
        v = self.values() * 1e6
        names = {"p50": 50, "p90": 90, "p99": 99, "max": 100}
        return {k: round(float(np.percentile(v, q)), 1) for k, q in names.items()}


def main(requests=400, warmup=40):
    torch.manual_seed(0)
    model = Forecaster().npu().eval()

    def serve(x):
        with torch.inference_mode():
            y = model(x)
            torch.npu.synchronize()
            return y

    report = []
    for batch in (1, 8):
        inputs = [torch.randn(batch, 16, 96, device="npu") for _ in range(requests)]
        for x in inputs[:warmup]:
            serve(x)
        latency = Latency()
        timed = latency(serve)
        for x in inputs:
            timed(x)
        report.append({"shape": [batch, 16, 96], "dtype": "float32", "requests": requests,
                       "what": "request latency, input on the device, wait included",
                       "latency_us": latency.summary()})
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
