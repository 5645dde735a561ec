#!/usr/bin/env python
import argparse
import time

import torch
import torch_npu


def parse():
    ap = argparse.ArgumentParser(description="latency of batched matmul on the NPU")
    ap.add_argument("--batch", type=int, nargs="+", default=[8, 16, 32])
    ap.add_argument("--size", type=int, default=256)
    ap.add_argument("--dtype", choices=["float16", "float32"], default="float16")
    ap.add_argument("--warmup", type=int, default=20)
    ap.add_argument("--repeat", type=int, default=250)
    ap.add_argument("--ring", type=int, default=8, help="input pairs used in turn")
    return ap.parse_args()


def pairs(batch, size, dtype, n):
    return [(torch.randn(batch, size, size, device="npu", dtype=dtype),
             torch.randn(batch, size, size, device="npu", dtype=dtype)) for _ in range(n)]


def run(data, warmup, repeat):
    for i in range(warmup):
        torch.bmm(*data[i % len(data)])
    torch.npu.synchronize()
    times = []
    for i in range(repeat):
        a, b = data[i % len(data)]
        start = time.perf_counter()
        torch.bmm(a, b)
        torch.npu.synchronize()
        times.append((time.perf_counter() - start) * 1e6)
    return times


def summary(times):
    times = sorted(times)
    mid = times[len(times) // 2]
    times = [t for t in times[: int(0.8 * len(times))] if t < 1.5 * mid]
    return {"p50": times[len(times) // 2], "p99": times[int(0.99 * len(times))], "max": times[-1]}


def main():
    args = parse()
    dtype = getattr(torch, args.dtype)
    torch.manual_seed(0)
    print(f"torch.bmm {args.size}x{args.size}, {args.dtype}, {args.repeat} calls each, "
          "latency from call to completion; inputs resident in L2")
    for batch in args.batch:
        s = summary(run(pairs(batch, args.size, dtype, args.ring), args.warmup, args.repeat))
        print(f"batch {batch:3d}: p50 {s['p50']:.2f} us, p99 {s['p99']:.2f} us, worst call {s['max']:.2f} us")


if __name__ == "__main__":
    main()
