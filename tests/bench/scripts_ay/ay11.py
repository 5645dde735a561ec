"""Batch sweep: exact gelu against its tanh approximation, latency of a single call on a fresh activation.

In the network the activation has just been written by a far larger operator, so the caches are
swept before each pair; see `sweep`.
"""
import json
import statistics
import time

import torch
import torch.nn.functional as F
import torch_npu

WIDTH = 4096
BATCHES = (256, 512, 1024)
REPEATS = 7


def exact(x):
    return F.gelu(x)


def approx(x):
    return F.gelu(x, approximate="tanh")


class Sweeper:
    """Writes more than the L2 holds."""

    def __init__(self):
        bytes_l2 = 192 * 2 ** 20
        self.block = torch.empty(bytes_l2 * 4 // 3, dtype=torch.uint8, device="npu")

    def sweep(self):
        self.block.zero_()
        torch.npu.synchronize()


def latency_us(fn, x):
    tic = time.perf_counter()
    fn(x)
    torch.npu.synchronize()
    return (time.perf_counter() - tic) * 1e6


def main():
    sweeper = Sweeper()
    points = []
    for batch in BATCHES:
        x = torch.randn(batch, WIDTH).npu()
        for _ in range(3):
            exact(x), approx(x)
        torch.npu.synchronize()
        samples = {"exact": [], "tanh": []}
        for _ in range(REPEATS):
            sweeper.sweep()
            samples["exact"].append(latency_us(exact, x))
            samples["tanh"].append(latency_us(approx, x))
        mid = {name: statistics.median(us) for name, us in samples.items()}
        points.append({
            "batch": batch,
            **{f"{name}_us": round(us, 1) for name, us in mid.items()},
            "range_us": {name: [round(min(us), 1), round(max(us), 1)] for name, us in samples.items()},
            "tanh_gain": round(mid["exact"] / mid["tanh"], 3),
        })
    print(json.dumps({"device": torch.npu.get_device_name(0), "width": WIDTH, "dtype": "float32",
                      "repeats": REPEATS, "metric": "latency of one call incl. wait, median", "points": points}))


if __name__ == "__main__":
    main()
