"""Top-k sampling under a recorded trace of requests: device time of torch.topk per request, as CSV."""
import argparse
import csv
import random
import sys

import torch
import torch_npu

torch.set_num_threads(1)


def trace(count, seed):
    """(rows, vocabulary) of each request; most are short lists, a few ask for the whole vocabulary."""
    rng = random.Random(seed)
    menu = [(64, 4096), (64, 6144), (64, 8192), (64, 16384), (64, 65536)]
    return rng.choices(menu, weights=[30, 30, 20, 10, 10], k=count)


def device_times(requests, logits, k):
    marks = [torch.npu.Event(enable_timing=True) for _ in range(len(requests) + 1)]
    marks[0].record()
    for request, mark in zip(requests, marks[1:]):
        torch.topk(logits[request], k, dim=-1)
        mark.record()
    torch.npu.synchronize()
    return [a.elapsed_time(b) * 1e3 for a, b in zip(marks, marks[1:])]


def quantile(ordered, share):
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def summarise(us):
    us = sorted(us)
    us = us[: len(us) - len(us) // 8]
    return {
        "mean_us": sum(us) / len(us),
        "p50_us": quantile(us, 0.5),
        "p90_us": quantile(us, 0.9),
        "max_us": us[-1],
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=120)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--k", type=int, nargs="+", default=[40])
    options = parser.parse_args()

    requests = trace(options.requests, options.seed)
    logits = {shape: torch.randn(*shape, device="npu") for shape in set(requests)}

    writer = None
    for k in options.k:
        device_times(requests, logits, k)  # first launches
        us = device_times(requests, logits, k)
        row = {"k": k, "requests": len(requests)}
        row |= {key: round(value, 2) for key, value in summarise(us).items()}
        if writer is None:
            writer = csv.DictWriter(sys.stdout, row)
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
