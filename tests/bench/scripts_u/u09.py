"""Per-iteration time of the MLP forward at a few widths."""
import argparse
import csv
import sys
import time

import labkit  # noqa: F401
import torch
from torch import nn


def mlp(width):
    return nn.Sequential(
        nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
    )


def bench(model, x, total, warmup):
    with torch.no_grad():
        for it in range(total):
            if it == warmup:
                torch.npu.synchronize()
                start = time.perf_counter()
            model(x)
        torch.npu.synchronize()
        elapsed = time.perf_counter() - start
    return elapsed / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--widths", type=int, nargs="+", default=[512, 1024, 2048])
    ap.add_argument("--tokens", type=int, default=2048)
    ap.add_argument("--total", type=int, default=20)
    ap.add_argument("--warmup", type=int, default=8)
    ap.add_argument("--repeats", type=int, default=3)
    args = ap.parse_args()

    out = csv.writer(sys.stdout)
    out.writerow(["width", "tokens", "ms_per_iter_median", "ms_min", "ms_max"])
    for width in args.widths:
        model = mlp(width).to("npu", torch.float16).eval()
        x = torch.randn(args.tokens, width, device="npu", dtype=torch.float16)
        ms = sorted(bench(model, x, args.total, args.warmup) * 1e3 for _ in range(args.repeats))
        out.writerow([width, args.tokens, f"{ms[len(ms) // 2]:.4f}", f"{ms[0]:.4f}", f"{ms[-1]:.4f}"])


if __name__ == "__main__":
    main()
