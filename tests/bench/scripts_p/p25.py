"""Transposes of three layouts; the timer is a context manager that yields a list."""
import contextlib
import statistics
import time

import torch
import torch_npu  # noqa: F401


@contextlib.contextmanager
def measured(log, calls):
    torch.npu.synchronize()
    began = time.perf_counter()
    try:
        yield
    finally:
        torch.npu.synchronize()
        log.append((time.perf_counter() - began) / calls * 1e6)


x = torch.ones(16, 128, 96, device="npu")
for axes in ((0, 2, 1), (2, 1, 0), (1, 0, 2)):
    log = []
    for lap in range(28):
        with measured(log, 10):
            for _ in range(10):
                x.permute(axes).contiguous()
    steady = log[8:]
    print(f"(16, 128, 96) float32 by {axes}: median {statistics.median(steady):.2f} us, pstdev {statistics.pstdev(steady):.3f}, {len(steady)} samples after 8 warm-up laps, L2 warm")
