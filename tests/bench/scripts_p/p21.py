"""sort behind a queue: a worker thread serves requests, and each knows when it was put in."""
import queue
import threading
import time

import numpy as np
import torch
import torch_npu  # noqa: F401

inbox, latencies = queue.Queue(), []


def worker(x):
    while (put_at := inbox.get()) is not None:
        torch.sort(x)
        torch.npu.synchronize()
        latencies.append(time.perf_counter() - put_at)
        inbox.task_done()


for n in (2000, 50_000):
    inbox = queue.Queue()
    x = torch.arange(n, 0, -1, device="npu", dtype=torch.float32)
    for _ in range(5):
        torch.sort(x)
    torch.npu.synchronize()
    latencies.clear()
    thread = threading.Thread(target=worker, args=(x,))
    thread.start()
    for _ in range(60):
        inbox.put(time.perf_counter())
        inbox.join()
    inbox.put(None)
    thread.join()
    p = np.percentile(np.array(latencies) * 1e6, [50, 95, 99])
    print(f"request to answer, sort of {n} float32, one at a time: P50 {p[0]:.0f} us, P95 {p[1]:.0f} us, P99 {p[2]:.0f} us")
