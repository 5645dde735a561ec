"""Two projections in a row, relu(x @ w1) @ w2, float32, rows dealt to two threads: does multiplying w1 by w2 in advance pay?"""
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
import torch_npu  # noqa: F401

ROWS, WIDTH, INNER, WORKERS = 512, 256, 1024, 2
torch.manual_seed(0)
x = torch.randn(ROWS, WIDTH).npu().split(ROWS // WORKERS)
w1, w2 = torch.randn(WIDTH, INNER).npu(), torch.randn(INNER, WIDTH).npu()
w12 = w1 @ w2
streams = [torch.npu.Stream() for _ in range(WORKERS)]
ready = threading.Barrier(WORKERS)
results = [None] * WORKERS


def in_a_row(rows):
    return torch.relu(rows @ w1) @ w2


def in_advance(rows):
    return rows @ w12


def worker(rank, product, start):
    ready.wait()
    with torch.npu.stream(streams[rank]):
        streams[rank].wait_event(start)
        results[rank] = product(x[rank])


def sample(pool, product):
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    list(pool.map(lambda rank: worker(rank, product, start), range(WORKERS)))
    for stream in streams:
        torch.npu.current_stream().wait_stream(stream)
    end.record()
    return start, end


ways = {"in a row": in_a_row, "in advance": in_advance}
with ThreadPoolExecutor(WORKERS) as pool:
    for _ in range(5):
        for product in ways.values():
            sample(pool, product)
    torch.npu.synchronize()
    dice, marks = random.Random(3), {name: [] for name in ways}
    for _ in range(60):
        for name in dice.sample(list(ways), 2):
            marks[name].append(sample(pool, ways[name]))
    torch.npu.synchronize()

us = {name: np.array([1e3 * s.elapsed_time(e) for s, e in pairs]) for name, pairs in marks.items()}
for name, values in us.items():
    p10, p50, p90 = np.percentile(values, [10, 50, 90])
    print(f"{name:10} P10 {p10:6.1f}  P50 {p50:6.1f}  P90 {p90:6.1f} us  n={len(values)}")
low, ratio, high = np.percentile(us["in a row"] / us["in advance"], [10, 50, 90])
print(f"at {ROWS} x {WIDTH} x {INNER}, warm L2, the product in advance is {ratio:.2f} times as fast ({low:.2f} to {high:.2f})")
