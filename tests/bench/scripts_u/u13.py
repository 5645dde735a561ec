"""GEMM throughput when the work is spread over a side stream (overlap experiment)."""
import argparse
import statistics
import time

import labkit  # noqa: F401
import torch


class StreamRunner:
    def __init__(self, n, dtype):
        self.stream = torch.npu.Stream()
        self.a = torch.randn(n, n, device="npu", dtype=dtype)
        self.b = torch.randn(n, n, device="npu", dtype=dtype)
        self.c = torch.empty(n, n, device="npu", dtype=dtype)
        torch.npu.synchronize()

    def launch(self, iters):
        with torch.npu.stream(self.stream):
            for _ in range(iters):
                torch.mm(self.a, self.b, out=self.c)


def measure(runner, iters):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    runner.launch(iters)
    torch.npu.current_stream().synchronize()
    return time.perf_counter() - t0


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--sizes", type=int, nargs="+", default=[1024, 2048, 4096])
    ap.add_argument("--iters", type=int, default=15)
    ap.add_argument("--repeats", type=int, default=5)
    args = ap.parse_args()

    print(f"{'n':>6}{'TFLOP/s':>12}{'min':>10}{'max':>10}")
    for n in args.sizes:
        runner = StreamRunner(n, torch.bfloat16)
        runner.launch(5)
        torch.npu.synchronize()
        tf = [2 * n ** 3 * args.iters / measure(runner, args.iters) / 1e12
              for _ in range(args.repeats)]
        print(f"{n:>6}{statistics.median(tf):12.1f}{min(tf):10.1f}{max(tf):10.1f}")


if __name__ == "__main__":
    main()
