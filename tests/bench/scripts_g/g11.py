# Tail of a sustained load: 1000 samples per shape, nothing left out. CSV on stdout.
import csv
import itertools
import sys

import numpy as np
import torch
import torch_npu  # noqa: F401

QUANTILES = (50, 90, 99)


def stamps():
    while True:
        yield torch.npu.Event(enable_timing=True)


def durations_us(step, count):
    for _ in range(100):
        step()
    torch.npu.synchronize()
    marks = list(itertools.islice(stamps(), count + 1))
    marks[0].record()
    for mark in marks[1:]:  # back to back: the end of a call is the beginning of the next
        step()
        mark.record()
    torch.npu.synchronize()
    return np.array([a.elapsed_time(b) for a, b in itertools.pairwise(marks)]) * 1e3


def main():
    table = csv.writer(sys.stdout)
    table.writerow(
        ["operator", "dtype", "shape", "l2", "load", "samples", *(f"p{q:g}_us" for q in QUANTILES), "max_us"]
    )
    for shape in ((2048, 1024), (3072, 1024)):
        x = torch.rand(shape).npu()
        us = durations_us(lambda x=x: torch.abs(x), 1000)
        tail = [f"{v:.2f}" for v in np.percentile(us, QUANTILES)]
        table.writerow(
            ["abs", "float32", "x".join(map(str, shape)), "warm", "sustained", len(us), *tail, f"{us.max():.2f}"]
        )


if __name__ == "__main__":
    main()
