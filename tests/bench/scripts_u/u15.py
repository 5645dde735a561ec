"""Request latency of an attention-pooling head, with outlier handling as in our CI."""
import argparse
import statistics
import time

import labkit  # noqa: F401
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, dim=512):
        super().__init__()
        self.score = nn.Linear(dim, 1)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        w = self.score(x).softmax(1)
        return self.proj((w * x).sum(1))


def pct(values, q):
    s = sorted(values)
    return s[min(len(s) - 1, int(q * len(s)))]


def split_outliers(values, k):
    med = statistics.median(values)
    mad = statistics.median(abs(v - med) for v in values) or 1e-9
    keep = [v for v in values if abs(v - med) <= k * mad]
    drop = [v for v in values if abs(v - med) > k * mad]
    return keep, drop


def describe(label, v):
    print(f"{label:<16} n={len(v):<4} mean {statistics.fmean(v):.3f}  p50 {pct(v, .5):.3f}  "
          f"p90 {pct(v, .9):.3f}  max {max(v):.3f} ms")


@torch.inference_mode()
def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--requests", type=int, default=60)
    ap.add_argument("--k", type=float, default=5.0)
    args = ap.parse_args()

    head = Head().to("npu").eval()
    x = torch.randn(4, 128, 512, device="npu")
    for _ in range(10):
        head(x)
    torch.npu.synchronize()

    ms = []
    for _ in range(args.requests):
        t0 = time.perf_counter()
        head(x)
        torch.npu.synchronize()
        ms.append((time.perf_counter() - t0) * 1e3)

    keep, drop = split_outliers(ms, args.k)
    print("latency of one request at a time, (4, 128, 512) fp32, input on device")
    describe("all samples", ms)
    describe("without outliers", keep)
    print(f"dropped {len(drop)} of {len(ms)} samples (further than {args.k:g} MAD from the median): "
          + (", ".join(f"{d:.3f}" for d in sorted(drop)) or "none"))


if __name__ == "__main__":
    main()
