"""Throughput of the scoring head: how many items a second can one card score?

This is throughput, not latency. The host issues a long run of batches without waiting in between, as the offline
job does, and the clock stops behind one wait at the end. Time over count is therefore no latency of a batch; nobody
should read it as one. The long run is repeated, and the spread over the repetitions is printed.
"""
import json
import statistics
import sys
import time

import torch
import torch_npu

RUNS = 9
BATCHES = 40


def head(width, classes):
    torch.manual_seed(6)
    return torch.nn.Sequential(
        torch.nn.LayerNorm(width), torch.nn.Linear(width, classes), torch.nn.LogSoftmax(-1)).npu().eval()


@torch.no_grad()
def run(model, pool):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for index in range(BATCHES):
        model(pool[index % len(pool)])
    torch.npu.synchronize()
    return time.perf_counter() - begin


def study(batch, width=128, classes=50):
    model = head(width, classes)
    pool = [torch.randn(batch, width).npu() for _ in range(4)]
    for _ in range(2):
        run(model, pool)
    seconds = [run(model, pool) for _ in range(RUNS)]
    rates = sorted(BATCHES * batch / s for s in seconds)
    return {
        "batch": batch,
        "items_per_s_median": round(statistics.median(rates)),
        "items_per_s_slowest_run": round(rates[0]),
        "items_per_s_fastest_run": round(rates[-1]),
        "runs": RUNS,
    }


def main():
    document = {
        "what": "offline throughput, batches queued back to back, one wait a run",
        "model": "LayerNorm(128) + Linear(128, 50) + LogSoftmax, float32",
        "l2": "warm: four inputs in turn, all fit",
        "results": [study(batch) for batch in (8, 32, 128)],
    }
    json.dump(document, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
