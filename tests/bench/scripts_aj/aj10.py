"""Masking scores: torch.where against masked_fill. Jobs come from a queue; the device belongs to one worker at a time."""
import queue
import statistics
import threading
import time

import torch
import torch_npu

ROUNDS = 36
device = threading.Lock()
jobs: "queue.Queue" = queue.Queue()
found = {}


def with_where(x, mask):
    return torch.where(mask, float("-inf"), x)


def with_fill(x, mask):
    return x.masked_fill(mask, float("-inf"))


def one(f, x, mask):
    torch.npu.synchronize()
    t = time.perf_counter()
    f(x, mask)
    torch.npu.synchronize()
    return (time.perf_counter() - t) * 1e6


def worker():
    while True:
        shape = jobs.get()
        if shape is None:
            return
        with device:
            x = torch.randn(shape, device="npu")
            mask = torch.rand(shape, device="npu") < 0.3
            assert torch.equal(with_where(x, mask), with_fill(x, mask))
            for f in (with_where, with_fill) * 8:
                f(x, mask)
            times = {with_where: [], with_fill: []}
            for r in range(ROUNDS):
                order = (with_where, with_fill) if r % 2 else (with_fill, with_where)
                for f in order:
                    times[f].append(one(f, x, mask))
        found[shape] = times


shapes = [(64, 64), (4, 128, 128), (8, 4, 64, 64)]
threads = [threading.Thread(target=worker) for _ in range(2)]
for shape in shapes:
    jobs.put(shape)
for t in threads:
    jobs.put(None)
    t.start()
for t in threads:
    t.join()

print("Masked scores, float32, 30 % masked; results equal. Issue to completion of one call, us; buffers reused (hot L2);")
print(f"{ROUNDS} samples each, the two taking turns at going first.")
for shape in shapes:
    for f, us in found[shape].items():
        a, b, c = statistics.quantiles(us, n=4)
        print(f"  {str(shape):<16} {f.__name__:<10} median {b:7.2f}  quartiles {a:.2f}, {c:.2f}  max {max(us):.2f}")
