"""Cold-cache latency of the GEMV in the last layer (batch-1 decoding).

In production the weights of a layer have left the cache by the time the layer
comes round again, and so the cache is cleared between samples.
"""
import csv
import sys

import numpy as np
import torch

import labkit  # noqa: F401

FLUSH_BYTES = 40 * 1024 * 1024


class Flusher:
    def __init__(self, nbytes):
        self.buf = torch.zeros(nbytes // 4, dtype=torch.int32, device="npu")

    def __call__(self):
        self.buf.zero_()


def samples(fn, flush, n):
    for _ in range(3):
        flush()
        fn()
    torch.npu.synchronize()
    evs = []
    for _ in range(n):
        flush()
        beg, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        beg.record()
        fn()
        end.record()
        evs.append((beg, end))
    torch.npu.synchronize()
    return np.array([b.elapsed_time(e) for b, e in evs]) * 1e3


def main():
    flush = Flusher(FLUSH_BYTES)
    out = csv.writer(sys.stdout)
    out.writerow(["rows", "cols", "MB", "cold_p50_us", "cold_p10_us", "cold_p90_us", "cold_read_GBps"])
    for rows, cols in ((4096, 1024), (4096, 2048), (4096, 4096)):
        w = torch.randn(rows, cols, device="npu", dtype=torch.float16)
        v = torch.randn(cols, device="npu", dtype=torch.float16)
        us = samples(lambda: torch.mv(w, v), flush, 12)
        p10, p50, p90 = np.percentile(us, [10, 50, 90])
        nbytes = w.numel() * w.element_size()
        out.writerow([rows, cols, round(nbytes / 2**20, 1), f"{p50:.2f}", f"{p10:.2f}", f"{p90:.2f}",
                      f"{nbytes / (p50 * 1e-6) / 1e9:.1f}"])


if __name__ == "__main__":
    main()
