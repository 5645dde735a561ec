"""Reduction along rows: times of the stream, with the samples that another tenant of the card held up set apart."""
import numpy as np
import pandas as pd
import torch
import torch_npu  # noqa: F401

SAMPLES, INNER = 40, 10
LIMIT = 3.0  # times the median


def collect(x, dim):
    for _ in range(INNER):
        x.sum(dim)
    torch.npu.synchronize()
    marks = []
    for _ in range(SAMPLES):
        start, stop = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        start.record()
        for _ in range(INNER):
            x.sum(dim)
        stop.record()
        marks.append((start, stop))
    torch.npu.synchronize()
    return pd.Series([start.elapsed_time(stop) * 1e3 / INNER for start, stop in marks])


def summary(us):
    return f"mean {us.mean():7.2f} std {us.std():6.2f} P50 {us.median():7.2f} P90 {us.quantile(0.9):7.2f} n={us.size}"


def main():
    torch.manual_seed(6)
    for rows, cols in ((64, 512), (256, 1024), (1024, 512)):
        x = torch.randn(rows, cols, device="npu")
        us = collect(x, dim=1)
        held = us > LIMIT * us.median()
        quiet = us[~held]
        print(f"sum over rows of {rows}x{cols}, us a call")
        print(f"    all samples:              {summary(us)}")
        print(f"    without {int(held.sum()):2d} of {us.size} held up: {summary(quiet)}")
        if held.any():
            print(f"    set apart (over {LIMIT:g} x median): {np.round(us[held].to_numpy(), 1).tolist()}")


if __name__ == "__main__":
    main()
