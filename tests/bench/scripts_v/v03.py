"""GEMM throughput on a dedicated compute stream (one row per projection size)."""
import argparse
import csv
import sys
import time

import numpy as np
import torch
import torch_npu

PROJECTIONS = {"qkv": (256, 384, 1152), "out": (256, 384, 384), "mlp_up": (256, 384, 1536)}


class Worker:
    def __init__(self, m, k, n):
        self.stream = torch.npu.Stream()
        self.x = torch.randn(m, k, device="npu")
        self.w = torch.randn(k, n, device="npu")
        self.y = torch.empty(m, n, device="npu")
        self.flops = 2 * m * k * n

    def submit(self, iters):
        self.stream.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(self.stream):
            for _ in range(iters):
                torch.mm(self.x, self.w, out=self.y)

    def measure(self, iters):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        self.submit(iters)
        torch.npu.current_stream().synchronize()
        return (time.perf_counter() - t0) / iters


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=10)
    ap.add_argument("--samples", type=int, default=25)
    ap.add_argument("--warmup", type=int, default=5)
    args = ap.parse_args()

    workers = {name: Worker(*mkn) for name, mkn in PROJECTIONS.items()}
    for w in workers.values():
        for _ in range(args.warmup):
            w.submit(args.iters)
        torch.npu.synchronize()

    rows = {name: [] for name in workers}
    for _ in range(args.samples):
        for name in np.random.permutation(list(workers)):
            rows[name].append(workers[name].measure(args.iters))

    out = csv.writer(sys.stdout)
    out.writerow(["proj", "m", "k", "n", "us_p50", "us_p10", "us_p90", "gflops_p50"])
    for name, secs in rows.items():
        p10, p50, p90 = np.percentile(secs, [10, 50, 90])
        out.writerow([name, *PROJECTIONS[name], f"{p50*1e6:.1f}", f"{p10*1e6:.1f}", f"{p90*1e6:.1f}",
                      f"{workers[name].flops / p50 / 1e9:.1f}"])
    print(f"# fp32, operands stay on the device, {args.samples} samples of {args.iters} GEMMs each")


if __name__ == "__main__":
    main()
