#!/usr/bin/env python3
"""How does a two-layer MLP scale with the batch?  One JSON document on stdout.

Each cell is: warm up at that very batch, then `blocks` blocks.  A block issues as many
forwards as fit into about BLOCK_S and waits once for the device.
"""
import json
import statistics
import sys
import time

import torch
import torch_npu
from torch import nn

BATCHES = [1, 4, 16, 64]
WIDTH = 128
BLOCK_S = 0.015
BLOCKS = 15


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))


def wait():
    torch.npu.synchronize()


def block(net, x, calls):
    wait()
    begin = time.perf_counter()
    for _ in range(calls):
        net(x)
    wait()
    return (time.perf_counter() - begin) / calls


def cell(net, batch):
    x = torch.randn(batch, WIDTH, device="npu")
    wait()
    begin = time.perf_counter()
    net(x)
    wait()
    first = time.perf_counter() - begin
    rough = min(block(net, x, 5) for _ in range(3))
    calls = max(5, min(100, int(BLOCK_S / rough)))
    times = [block(net, x, calls) for _ in range(BLOCKS)]
    low, mid, high = statistics.quantiles(times, n=4)
    return {
        "batch": batch,
        "first_call_ms": round(first * 1e3, 3),
        "calls_per_block": calls,
        "forward_us": {"q1": round(low * 1e6, 1), "median": round(mid * 1e6, 1), "q3": round(high * 1e6, 1)},
        "rows_per_s": {"q1": round(batch / high), "median": round(batch / mid), "q3": round(batch / low)},
    }


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the host only issues; keep its pool from competing with the launch thread
    net = Mlp(WIDTH).to("npu").eval()
    with torch.no_grad():
        cells = [cell(net, b) for b in BATCHES]
    ranked = sorted(cells, key=lambda c: c["rows_per_s"]["median"], reverse=True)
    clear = ranked[0]["rows_per_s"]["q1"] > ranked[1]["rows_per_s"]["q3"]
    json.dump(
        {
            "device": torch.npu.get_device_name(0),
            "dtype": "float32",
            "width": WIDTH,
            "time": "wall clock of a block of forwards with one wait at its end, over its number of forwards",
            "blocks_per_cell": BLOCKS,
            "cells": cells,
            "most_rows_per_s": ranked[0]["batch"] if clear else None,
            "note": "most_rows_per_s is null if the quartiles of the two best batches overlap",
        },
        sys.stdout,
        indent=1,
    )
    print()


main()
