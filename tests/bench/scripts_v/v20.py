"""fp32 matmul sweep: event time and achieved rate per shape."""
import argparse
import csv
import random
import sys

import numpy as np
import torch
import torch_npu

SHAPES = [(64, 64, 64), (128, 128, 128), (256, 256, 256), (384, 384, 384), (32, 512, 512), (512, 512, 32)]


class Case:
    def __init__(self, m, k, n):
        self.shape = (m, k, n)
        self.a = torch.randn(m, k, device="npu")
        self.b = torch.randn(k, n, device="npu")
        self.c = torch.empty(m, n, device="npu")
        self.ms = []

    def run(self, calls):
        for _ in range(calls):
            torch.mm(self.a, self.b, out=self.c)

    def sample(self, calls):
        start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        torch.npu.synchronize()
        start.record()
        self.run(calls)
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / calls

    def check(self):
        ref = self.a.cpu().double() @ self.b.cpu().double()
        err = (self.c.cpu().double() - ref).abs().max() / ref.abs().max()
        assert err < 1e-2, f"{self.shape}: relative error {err:.1e}"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=30)
    ap.add_argument("--calls", type=int, default=10)
    args = ap.parse_args()
    torch.manual_seed(0)
    cases = [Case(*s) for s in SHAPES]
    for c in cases:
        for _ in range(3):
            c.sample(args.calls)
        c.check()
    for _ in range(args.rounds):
        for c in random.sample(cases, len(cases)):
            c.ms.append(c.sample(args.calls))
    out = csv.writer(sys.stdout)
    out.writerow(["m", "k", "n", "us_p10", "us_p50", "us_p90", "gflops_at_p50", "samples"])
    for c in cases:
        m, k, n = c.shape
        p10, p50, p90 = np.percentile(c.ms, [10, 50, 90])
        out.writerow([m, k, n, f"{p10*1e3:.2f}", f"{p50*1e3:.2f}", f"{p90*1e3:.2f}", f"{2*m*k*n/p50/1e6:.1f}", len(c.ms)])
    print(f"# us = time between two stream events / {args.calls} back-to-back calls, so launch gaps count where the host is the limit")
    print("# operands and result are reused, i.e. warm in cache; rows describe the listed shapes only")


if __name__ == "__main__":
    main()
