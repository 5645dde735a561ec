"""Copies between pinned host memory and the NPU, over the message sizes of our parameter server."""
import argparse
import random
import statistics

import torch
import torch_npu

KIB = 1024
SIZES = [16 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB, 4096 * KIB]


def copies(direction, sizes, each, seed):
    """(source, destination) of every copy, in the order in which they are made."""
    plan = []
    for size in sizes:
        host = torch.zeros(size, dtype=torch.uint8).pin_memory()
        device = torch.zeros(size, dtype=torch.uint8, device="npu")
        plan += [(host, device) if direction == "h2d" else (device, host)] * each
    random.Random(seed).shuffle(plan)
    return plan


def rates(plan):
    """GB/s of each copy: all are queued, and the device notes when each one begins and ends."""
    marks = [torch.npu.Event(enable_timing=True) for _ in range(len(plan) + 1)]
    torch.npu.synchronize()
    longest, into = max(plan, key=lambda copy: copy[0].numel())
    into.copy_(longest, non_blocking=True)  # not counted: the device is busy while the first ones are queued
    marks[0].record()
    for (source, destination), mark in zip(plan, marks[1:]):
        destination.copy_(source, non_blocking=True)
        mark.record()
    torch.npu.synchronize()
    laps = [a.elapsed_time(b) for a, b in zip(marks, marks[1:])]
    return [source.numel() / (ms * 1e6) for (source, _), ms in zip(plan, laps)]


def summary(values):
    middle = statistics.median(values)
    values = [v for v in values if v > middle / 2]
    return statistics.mean(values), min(values), max(values)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--each", type=int, default=12, help="copies of each size")
    p.add_argument("--seed", type=int, default=5)
    args = p.parse_args()

    print(f"device={torch.npu.get_device_name(0)!r}")
    print(f"sizes_kib={','.join(str(s // KIB) for s in SIZES)}")
    for direction in ("h2d", "d2h"):
        plan = copies(direction, SIZES, args.each, args.seed)
        rates(plan)
        mean, low, high = summary(rates(plan))
        print(f"{direction}_copies={len(plan)}")
        print(f"{direction}_gb_per_s_mean_over_all_copies={mean:.2f}")
        print(f"{direction}_gb_per_s_slowest={low:.2f}")
        print(f"{direction}_gb_per_s_fastest={high:.2f}")


if __name__ == "__main__":
    main()
