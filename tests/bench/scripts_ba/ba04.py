"""torch.gather over a replayed request log: candidates per request differ, the pool is fixed.

Writes CSV to stdout.
"""
import csv
import random
import sys

import torch
import torch_npu

POOL, DIM = 4096, 64
REQUESTS = 60


def trace(seed):
    """Lengths as they came in on a weekday morning: many short requests, some long ones."""
    rng = random.Random(seed)
    return [rng.choice((64, 64, 128, 128, 256, 512, 1024)) for _ in range(REQUESTS)]


def timed(pool, index):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    begin.record()
    torch.gather(pool, 0, index)
    end.record()
    return begin, end


def main():
    torch.manual_seed(1)
    pool = torch.randn(POOL, DIM, device="npu")
    lengths = trace(11)
    indices = [torch.randint(0, POOL, (n, 1)).expand(n, DIM).contiguous().npu() for n in lengths]

    for index in indices:
        torch.gather(pool, 0, index)
    torch.npu.synchronize()

    pairs = [timed(pool, index) for index in indices]
    torch.npu.synchronize()
    samples = sorted(begin.elapsed_time(end) * 1000.0 for begin, end in pairs)
    kept = samples[: int(len(samples) * 0.8)]

    out = csv.writer(sys.stdout)
    out.writerow(["op", "requests", "mean_us", "p50_us", "max_us"])
    mean = sum(kept) / len(kept)
    out.writerow([
        "gather",
        len(lengths),
        f"{mean:.1f}",
        f"{kept[len(kept) // 2]:.1f}",
        f"{kept[-1]:.1f}",
    ])


if __name__ == "__main__":
    main()
