"""Attention requests from several worker threads of one process: requests per second.

Each worker issues on a stream of its own and waits for each of its requests.
"""
import threading
import time

import torch
import torch.nn.functional as F
import torch_npu

REQUESTS = 12      # per worker and run
RUNS = 9


def request_pool(heads, seq, dim=64, n=3):
    return [tuple(torch.randn(1, heads, seq, dim).half().to("npu") for _ in range(3)) for _ in range(n)]


def worker(pool, gate, latencies, errors):
    try:
        stream = torch.npu.Stream()
        gate.wait()
        with torch.npu.stream(stream):
            for i in range(REQUESTS):
                q, k, v = pool[i % len(pool)]
                t0 = time.perf_counter()
                F.scaled_dot_product_attention(q, k, v)
                stream.synchronize()
                latencies.append((time.perf_counter() - t0) * 1e6)
    except Exception as exc:       # do not lose it in the thread
        errors.append(exc)
        raise


def run(pool, workers):
    started = []
    gate = threading.Barrier(workers + 1, action=lambda: started.append(time.perf_counter()))
    latencies, errors = [], []
    threads = [threading.Thread(target=worker, args=(pool, gate, latencies, errors)) for _ in range(workers)]
    torch.npu.synchronize()
    for t in threads:
        t.start()
    gate.wait()
    for t in threads:
        t.join()
    torch.npu.synchronize()
    total = time.perf_counter() - started[0]
    assert not errors and len(latencies) == workers * REQUESTS
    return len(latencies) / total, latencies


print("SDPA fp16, head size 64, batch 1; hot cache; whole runs timed from the start signal to the last result;")
print(f"{RUNS} runs of {REQUESTS} requests per worker, order of the worker counts alternates; latencies of all requests")
for heads, seq in [(8, 64), (8, 128)]:
    pool = request_pool(heads, seq)
    counts = [1, 2, 4]
    for c in counts:
        run(pool, c)               # warm-up, not counted
    rates, lat = {c: [] for c in counts}, {c: [] for c in counts}
    for r in range(RUNS):
        for c in (counts if r % 2 else counts[::-1]):
            rate, us = run(pool, c)
            rates[c].append(rate)
            lat[c] += us
    for c in counts:
        s, l = sorted(rates[c]), sorted(lat[c])
        print(f"heads {heads} seq {seq:4d} workers {c}: median {s[RUNS // 2]:9.0f} requests/s "
              f"(min {s[0]:.0f}, max {s[-1]:.0f}); latency p50 {l[len(l) // 2]:.1f} us, p90 {l[int(len(l) * .9)]:.1f} us")
