import torch
import torch_npu
import argparse

import numpy as np


def device_samples(function, calls):
    marks = [torch.npu.Event(enable_timing=True) for _ in range(calls + 1)]
    function()
    marks[0].record()
    for mark in marks[1:]:
        function()
        mark.record()
    torch.npu.synchronize()
    return np.array([a.elapsed_time(b) * 1e3 for a, b in zip(marks, marks[1:])])


def gather(function, runs, calls):
    for _ in range(12):
        function()
    torch.npu.synchronize()
    for _ in range(runs):
        us = device_samples(function, calls)
        yield np.sort(us)[: int(0.85 * calls)]


def describe(us):
    p50, p95, p99 = np.percentile(us, [50, 95, 99])
    return f"P50 {p50:.2f} us, P95 {p95:.2f} us, P99 {p99:.2f} us, worst {us.max():.2f} us"


def main():
    parser = argparse.ArgumentParser(description="tail latency of an activation")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--calls", type=int, default=30)
    parser.add_argument("--rows", type=int, nargs="*", default=[2048, 3072, 4096])
    args = parser.parse_args()
    torch.manual_seed(2)
    for rows in args.rows:
        x = torch.randn(rows, 1024).npu()
        torch.testing.assert_close(torch.tanh(x).cpu(), torch.tanh(x.cpu()), rtol=1e-4, atol=1e-5)
        runs = list(gather(lambda: torch.tanh(x), args.runs, args.calls))
        print(f"tanh, float32 {rows} x 1024, device time of {args.runs} runs of {args.calls} calls: "
              + describe(np.concatenate(runs)))
        print("    medians of the runs:", ", ".join(f"{np.median(run):.2f} us" for run in runs))


if __name__ == "__main__":
    main()
