"""Upload rate from pinned host memory through a copy stream, by chunk size. The total is 16 MB in each case."""
import functools

import numpy as np
import torch
import torch_npu  # noqa: F401

TOTAL = 16 << 20
COPIES = torch.npu.Stream()


def timed(samples):
    """Decorator: runs the function `samples` times behind a warm-up, returns its times in us by events."""
    def wrap(function):
        @functools.wraps(function)
        def inner(*args):
            for _ in range(3):
                function(*args)
            torch.npu.synchronize()
            marks = []
            for _ in range(samples):
                start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
                start.record()
                function(*args)
                end.record()
                marks.append((start, end))
            torch.npu.synchronize()
            return np.array([1e3 * start.elapsed_time(end) for start, end in marks])
        return inner
    return wrap


@timed(samples=25)
def upload(targets, sources):
    with torch.npu.stream(COPIES):
        for target, source in zip(targets, sources):
            target.copy_(source, non_blocking=True)


def buffers(chunk):
    count = TOTAL // chunk
    sources = [torch.ones(chunk, dtype=torch.uint8).pin_memory() for _ in range(count)]
    return [torch.empty(chunk, dtype=torch.uint8).npu() for _ in range(count)], sources


def main():
    best = None
    for chunk in (1 << 20, 2 << 20, 4 << 20, 16 << 20):
        us = upload(*buffers(chunk))
        p10, p50, p90 = np.percentile(us, [10, 50, 90])
        rate = TOTAL / p50 / 1e3
        best = max(best or (0, 0), (rate, chunk))
        print(f"chunks of {chunk >> 20:2} MB: P10 {p10:7.1f}  P50 {p50:7.1f}  P90 {p90:7.1f} us  n={len(us)}  {rate:8.1f} GB/s at P50")
    print(f"for 16 MB out of pinned memory, chunks of {best[1] >> 20} MB upload fastest: {best[0]:.1f} GB/s")


main()
