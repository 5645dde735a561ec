"""Table of GEMM times for the planner: one row per shape."""
import argparse
import csv
import io

import torch
import torch_npu  # noqa: F401

SHAPES = ((256, 512, 512), (384, 512, 512), (512, 512, 512), (512, 768, 512))


def gemm_us(m, n, k, calls, repeats, dtype=torch.float32):
    a = torch.randn(m, k, device="npu", dtype=dtype)
    b = torch.randn(k, n, device="npu", dtype=dtype)
    c = torch.empty(m, n, device="npu", dtype=dtype)
    for _ in range(calls):
        torch.mm(a, b, out=c)
    torch.npu.synchronize()
    marks = []
    for _ in range(repeats):
        start, stop = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        start.record()
        for _ in range(calls):
            torch.mm(a, b, out=c)
        stop.record()
        marks.append((start, stop))
    torch.npu.synchronize()
    values = sorted(start.elapsed_time(stop) * 1e3 / calls for start, stop in marks)
    return values[len(values) // 2]


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    torch.manual_seed(options.seed)
    sink = io.StringIO()
    table = csv.DictWriter(sink, fieldnames=["m", "n", "k", "dtype", "us", "tflops"])
    table.writeheader()
    for m, n, k in SHAPES:
        us = gemm_us(m, n, k, options.calls, options.repeats)
        table.writerow({"m": m, "n": n, "k": k, "dtype": "float32", "us": f"{us:.3f}",
                        "tflops": f"{2 * m * n * k / us / 1e6:.4f}"})
    print("mm, inputs warm in L2, back to back on one stream")
    print(sink.getvalue(), end="")


if __name__ == "__main__":
    main()
