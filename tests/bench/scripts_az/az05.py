#!/usr/bin/env python
"""cumsum along rows vs. along columns of one matrix, host clock.

A block is CALLS launches and a single wait; its time is divided by CALLS.  Which axis starts changes with
every block.  Nothing is declared a winner while the middle halves of both samples overlap.
"""
import statistics
import time

import torch
import torch_npu

ROWS, COLS = 256, 384
CALLS, BLOCKS, WARM = 10, 20, 3

torch.set_num_threads(1)
mat = torch.rand(ROWS, COLS, device="npu")
out = torch.empty_like(mat)


def along(dim):
    for _ in range(CALLS):
        torch.cumsum(mat, dim, out=out)


def timed(dim):
    torch.npu.synchronize()
    start = time.perf_counter_ns()
    along(dim)
    torch.npu.synchronize()
    return (time.perf_counter_ns() - start) / CALLS / 1e3


def quartiles(values):
    q1, q2, q3 = statistics.quantiles(values, n=4)
    return q1, q2, q3


# values first: both axes against the host
for dim in (0, 1):
    torch.cumsum(mat, dim, out=out)
    torch.testing.assert_close(out.cpu(), torch.cumsum(mat.cpu(), dim), rtol=1e-4, atol=1e-3)

for _ in range(WARM):
    timed(0)
    timed(1)

samples = {0: [], 1: []}
for block in range(BLOCKS):
    for dim in ((0, 1) if block % 2 else (1, 0)):
        samples[dim].append(timed(dim))

stats = {dim: quartiles(values) for dim, values in samples.items()}
print(f"op=cumsum rows={ROWS} cols={COLS} dtype=float32 cache=warm calls_per_block={CALLS} blocks={BLOCKS}")
for dim, (q1, q2, q3) in stats.items():
    print(f"dim={dim} median_us={q2:.0f} q1_us={q1:.0f} q3_us={q3:.0f} best_us={min(samples[dim]):.0f} worst_us={max(samples[dim]):.0f}")

a, b = stats[0], stats[1]
if a[2] < b[0]:
    verdict = "dim0"
elif b[2] < a[0]:
    verdict = "dim1"
else:
    verdict = "undecided"
print(f"faster_at_this_size={verdict} ratio_of_medians={max(a[1], b[1]) / min(a[1], b[1]):.1f}")
