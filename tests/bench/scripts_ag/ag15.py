import labkit
import queue

import numpy as np
import torch
import torch.nn.functional as F

HEADS, DIM = 8, 64
REQUESTS = 60


def fill(pending):
    torch.manual_seed(1)
    for i in range(REQUESTS):
        length = 64 if i % 2 else 128
        q, k, v = (torch.randn(1, HEADS, length, DIM, device="npu", dtype=torch.float16) for _ in range(3))
        pending.put((length, q, k, v))


def drain(pending):
    done = []
    while not pending.empty():
        length, q, k, v = pending.get()
        begin = torch.npu.Event(enable_timing=True)
        end = torch.npu.Event(enable_timing=True)
        begin.record()
        out = F.scaled_dot_product_attention(q, k, v)
        end.record()
        done.append((length, begin, end, out))
    torch.npu.synchronize()
    return done


pending = queue.Queue()
fill(pending)
torch.npu.synchronize()
done = drain(pending)

assert all(out.isfinite().all() for *_, out in done)
us = np.array([1e3 * begin.elapsed_time(end) for _, begin, end, _ in done])
print(f"attention worker, float16, {HEADS} heads of {DIM}, lengths 64 and 128 in turn, {REQUESTS} requests from a queue")
print(f"steady-state device time of a request: mean {us.mean():.1f} us +- {us.std(ddof=1):.1f}, "
      f"p50 {np.percentile(us, 50):.1f} us, p90 {np.percentile(us, 90):.1f} us, longest {us.max():.1f} us")
for length in (64, 128):
    part = np.array([v for v, d in zip(us, done) if d[0] == length])
    print(f"  length {length:3}: mean {part.mean():.1f} us +- {part.std(ddof=1):.1f} ({part.size} requests, each with its own tensors)")
print(f"When planning capacity for this mix, count {us.mean():.1f} us of the device for each request.")
