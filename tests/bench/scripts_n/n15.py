"""Latency of a softmax request as a caller sees it who needs each answer before asking the next question."""
import csv
import sys
import time
from dataclasses import asdict, astuple, dataclass, fields

import numpy as np
import torch
import torch_npu


@dataclass
class Latency:
    rows: int
    cols: int
    requests: int
    p50_us: float
    p90_us: float
    p99_us: float
    max_us: float


def request(x):
    torch.softmax(x, dim=-1)
    torch.npu.synchronize()


def round_trips(x, requests):
    for _ in range(10):
        request(x)
    out = []
    for _ in range(requests):
        t0 = time.perf_counter_ns()
        request(x)
        out.append((time.perf_counter_ns() - t0) / 1e3)
    return out


def main():
    records = []
    for rows, cols in [(1, 1000), (32, 1000), (64, 4096), (256, 2048)]:
        x = torch.randn(rows, cols, device="npu")
        us = round_trips(x, 100)
        p50, p90, p99 = np.percentile(us, [50, 90, 99]).round(2)
        records.append(Latency(rows, cols, len(us), p50, p90, p99, round(max(us), 2)))
    print("# round trip per request: issue, run, wait for the result; not the time of the kernel. fp32, input resident and warm")
    writer = csv.writer(sys.stdout)
    writer.writerow(f.name for f in fields(Latency))
    for record in records:
        writer.writerow(astuple(record))
    slowest = max(records, key=lambda r: r.p99_us)
    print("# worst P99:", asdict(slowest))


main()
