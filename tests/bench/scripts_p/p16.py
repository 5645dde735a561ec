import itertools
import time

import torch
import torch_npu  # noqa: F401


def readings(action, burst):
    """Endless: microseconds of one call, seen over a burst."""
    while True:
        torch.npu.synchronize()
        since = time.perf_counter()
        for _ in itertools.repeat(None, burst):
            action()
        torch.npu.synchronize()
        yield (time.perf_counter() - since) * 1e6 / burst


def rank(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


for rows in (7, 700):
    x = torch.ones(rows, 640, device="npu")
    source = readings(lambda: torch.exp(x), 15)
    settling = list(itertools.islice(source, 6))  # not used any more
    kept = list(itertools.islice(source, 40))
    print(f"exp, {tuple(x.shape)}, {x.dtype}: p05 {rank(kept, 0.05):.2f}  p50 {rank(kept, 0.5):.2f}  p95 {rank(kept, 0.95):.2f}  us (warm L2)")
