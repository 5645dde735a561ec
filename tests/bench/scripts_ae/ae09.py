"""Tail latency of the scoring head (64 x 256 -> 256 -> 1), as a report for the SLO sheet."""
import json
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn
import labkit

SLO_US = 150.0


@dataclass
class Series:
    name: str
    raw: list = field(default_factory=list)

    def steady(self):
        """The samples in the stationary regime: within six robust deviations of the level."""
        v = np.asarray(self.raw)
        level = np.median(v)
        scale = 1.4826 * np.median(np.abs(v - level)) + 1e-3
        return v[np.abs(v - level) <= 6 * scale]

    def summary(self):
        s = self.steady()
        p50, p90, p99 = np.percentile(s, [50, 90, 99])
        return {"name": self.name, "requests": len(self.raw), "p50_us": round(p50, 1), "p90_us": round(p90, 1),
                "p99_us": round(p99, 1), "max_us": round(s.max(), 1)}


def requests(count, batch=64, width=256):
    pool = [torch.randn(batch, width).npu() for _ in range(8)]
    for i in range(count):
        yield pool[i % 8]


def serve(model, count, series):
    """Latency as the caller sees it: from the call to the finished answer, the wait included."""
    for x in requests(count):
        begin = labkit.device.clock().host_us
        with torch.inference_mode():
            model(x)
        torch.npu.synchronize()
        series.raw.append(labkit.device.clock().host_us - begin)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 1)).npu().eval()
    serve(model, 60, Series("warm-up, not reported"))
    series = Series("scoring head, batch 64, width 256, fp32, one caller at a time")
    serve(model, 800, series)
    report = series.summary()
    print(json.dumps(report, indent=1))
    print(f"Of {report['requests']} requests 99 % were answered within {report['p99_us']} us and the slowest took "
          f"{report['max_us']} us (SLO {SLO_US:.0f} us): the tail is {report['p99_us'] / report['p50_us']:.2f} times the median.")


if __name__ == "__main__":
    main()
