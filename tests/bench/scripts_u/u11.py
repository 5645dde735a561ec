"""Operator microbenchmarks: steady per-call time for common ops."""
import argparse
import time

import labkit  # noqa: F401
import pandas as pd
import torch
import torch.nn.functional as F

OPS = {
    "softmax": lambda x: torch.softmax(x, -1),
    "gelu": lambda x: F.gelu(x),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "cumsum": lambda x: torch.cumsum(x, -1),
}
SHAPES = [(1024, 1024), (4096, 1024)]


def bench_op(fn, x, blocks, iters):
    per_call = []
    for _ in range(blocks):
        torch.npu.synchronize()
        tic = time.perf_counter()
        for _ in range(iters):
            fn(x)
        torch.npu.synchronize()
        per_call.append((time.perf_counter() - tic) / iters * 1e6)
    return per_call


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--blocks", type=int, default=3)
    ap.add_argument("--iters", type=int, default=10)
    args = ap.parse_args()

    table = []
    for shape in SHAPES:
        x = torch.randn(*shape, device="npu")
        for name, fn in OPS.items():
            s = bench_op(fn, x, args.blocks, args.iters)
            table.append({
                "op": name,
                "shape": "x".join(map(str, shape)),
                "mean_us": sum(s) / len(s),
                "min_us": min(s),
                "max_us": max(s),
            })

    print(f"steady-state operator time, fp32, {args.blocks} x {args.iters} calls")
    print(pd.DataFrame(table).round(2).to_string(index=False))


if __name__ == "__main__":
    main()
