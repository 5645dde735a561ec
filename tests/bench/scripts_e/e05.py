"""Throughput of the embedding service with several worker threads.

Each worker takes batches of ids and looks their sentence vectors up; a semaphore keeps the device to one of them.
"""
import functools
import threading
import time

import numpy as np
import torch
import torch_npu

torch.manual_seed(1)
encoder = torch.nn.Sequential(torch.nn.EmbeddingBag(1000, 64), torch.nn.Linear(64, 128), torch.nn.Tanh()).npu().eval()
device_lock = threading.Lock()


@functools.lru_cache(maxsize=None)
def encode(first, count):
    ids = torch.arange(first, first + count).npu().view(1, -1)
    with torch.no_grad():
        return encoder(ids)


def worker(batches, per_block, times):
    for _ in range(per_block):
        with device_lock:
            begin = time.perf_counter()
            for first, count in batches:
                encode(first, count)
            torch.npu.synchronize()
            times.append((time.perf_counter() - begin) / len(batches))


def measure(count, workers=3):
    batches = [(i, count) for i in range(0, 40, 4)]
    times = []
    worker(batches, 5, [])  # warm-up
    crew = [threading.Thread(target=worker, args=(batches, 12, times)) for _ in range(workers)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    return np.array(times) * 1e6


for count in (4, 32, 256):
    us = measure(count)
    p50, p90, p99 = np.percentile(us, [50, 90, 99])
    print(f"{count:4d} ids: P50 {p50:.2f} us  P90 {p90:.2f} us  P99 {p99:.2f} us a batch, {len(us)} blocks, warm L2")
