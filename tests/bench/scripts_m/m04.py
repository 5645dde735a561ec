import statistics
import time
from contextlib import contextmanager

import torch
import torch_npu  # noqa: F401


@contextmanager
def stopwatch(log, calls):
    t0 = time.thread_time()
    yield
    torch.npu.synchronize()
    log.append((time.thread_time() - t0) / calls * 1e6)


def bench(size, calls=10, rounds=12):
    a = torch.ones(size, size, dtype=torch.float16, device="npu")
    b = torch.ones(size, size, dtype=torch.float16, device="npu")
    for _ in range(10):
        torch.matmul(a, b)
    torch.npu.synchronize()
    log = []
    for _ in range(rounds):
        with stopwatch(log, calls):
            for _ in range(calls):
                torch.matmul(a, b)
    return log


for size in (64, 128, 256):
    log = bench(size)
    lo, mid, hi = statistics.quantiles(log, n=4)
    print(
        f"matmul {size}x{size}x{size} fp16, operands warm in L2: {mid:.2f} us a call (quartiles {lo:.2f} .. {hi:.2f})"
    )
