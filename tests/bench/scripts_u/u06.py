"""LayerNorm kernel table. Device events around a run of back-to-back launches."""
import argparse

import labkit  # noqa: F401
import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F

SHAPES = [(1024, 1024), (4096, 2048), (8192, 4096)]


def sample(fn, reps, inner):
    marks = []
    for _ in range(reps):
        beg = torch.npu.Event(enable_timing=True)
        end = torch.npu.Event(enable_timing=True)
        beg.record()
        for _ in range(inner):
            fn()
        end.record()
        marks.append((beg, end))
    torch.npu.synchronize()
    return np.array([b.elapsed_time(e) * 1e3 / inner for b, e in marks])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--reps", type=int, default=10)
    ap.add_argument("--inner", type=int, default=10)
    ap.add_argument("--dtype", default="float16")
    args = ap.parse_args()
    dtype = getattr(torch, args.dtype)

    rows = []
    for rows_, cols in SHAPES:
        x = torch.randn(rows_, cols, device="npu", dtype=dtype)
        w = torch.ones(cols, device="npu", dtype=dtype)
        b = torch.zeros(cols, device="npu", dtype=dtype)

        def call():
            return F.layer_norm(x, (cols,), w, b)

        for _ in range(5):
            call()
        torch.npu.synchronize()
        us = sample(call, args.reps, args.inner)
        rows.append({
            "shape": f"{rows_}x{cols}",
            "min us": us.min(),
            "median us": np.median(us),
            "p90 us": np.percentile(us, 90),
            "max us": us.max(),
        })

    print(f"layer_norm {args.dtype}, same input every launch, "
          f"{args.reps} samples of {args.inner} launches")
    print(pd.DataFrame(rows).to_string(index=False, float_format=lambda v: f"{v:.2f}"))


if __name__ == "__main__":
    main()
