#!/usr/bin/env python
# Bandwidth of cumsum over the last dimension, sweep over the batch.
import time

import torch
import torch_npu

COLS = 4096
SWEEP = [1, 2, 4, 8, 16, 32]
WARM, REPS, INNER = 8, 10, 4


def pct(sorted_values, q):
    return sorted_values[int(q * (len(sorted_values) - 1) + 0.5)]


def run(batch):
    x = torch.rand(batch, COLS, device="npu", dtype=torch.float32)
    expected = torch.cumsum(x.cpu().double(), -1)
    torch.testing.assert_close(torch.cumsum(x, -1).cpu().double(), expected, rtol=1e-4, atol=1e-2)
    for _ in range(WARM):
        torch.cumsum(x, -1)
    torch.npu.synchronize()
    t = []
    for _ in range(REPS):
        t0 = time.perf_counter()
        for _ in range(INNER):
            torch.cumsum(x, -1)
        torch.npu.synchronize()
        t.append((time.perf_counter() - t0) / INNER)
    t.sort()
    return t, 2 * x.numel() * x.element_size()


def main():
    print(f"{'batch':>5} {'MB moved':>9} {'p50 us':>8} {'p10 us':>8} {'p90 us':>8} {'GB/s':>8}")
    best = 0.0
    for batch in SWEEP:
        t, moved = run(batch)
        rate = moved / pct(t, 0.5) / 1e9
        best = max(best, rate)
        print(f"{batch:5d} {moved / 1e6:9.3f} {pct(t, .5) * 1e6:8.2f} {pct(t, .1) * 1e6:8.2f} "
              f"{pct(t, .9) * 1e6:8.2f} {rate:8.2f}")
    print(f"cumsum fp32, {COLS} columns: read from HBM and written back to HBM at up to {best:.1f} GB/s "
          f"in this sweep (bytes in + bytes out over the median wall time per call)")


if __name__ == "__main__":
    main()
