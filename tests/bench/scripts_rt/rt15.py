# Row sums in bursts. Output: CSV, one line per burst (raw, nothing aggregated away), comments start with '#'.
import csv
import statistics
import sys
import time

import torch
import torch_npu

BURST = 32
SHAPES = ((64, 256), (256, 256), (256, 1024))
REPEATS = 32


def burst(x):
    """Seconds from the first launch until the device is through with the last one."""
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(BURST):
        torch.sum(x, dim=-1)
    torch.npu.synchronize()
    return time.perf_counter() - t0


torch.manual_seed(15)
tensors = {s: torch.rand(s, device="npu") for s in SHAPES}
deviation = 0.0
for x in tensors.values():
    exact = x.cpu().double().sum(-1)
    deviation = max(deviation, ((torch.sum(x, dim=-1).cpu().double() - exact) / exact).abs().max().item())
    burst(x)
    burst(x)      # both unrecorded

print("# torch.sum(x, dim=-1), float32; launches back to back, one wait per burst and that wait is in `seconds`")
out = csv.DictWriter(sys.stdout, ["repeat", "rows", "cols", "launches", "seconds", "launches_per_s"], lineterminator="\n")
out.writeheader()
rates = {s: [] for s in SHAPES}
records = []
for r in range(REPEATS):
    order = SHAPES[r % len(SHAPES):] + SHAPES[:r % len(SHAPES)]      # rotate, so that none is always first
    for rows, cols in order:
        s = burst(tensors[rows, cols])
        rates[rows, cols].append(BURST / s)
        records.append(dict(repeat=r, rows=rows, cols=cols, launches=BURST, seconds=f"{s:.9f}", launches_per_s=f"{BURST / s:.1f}"))
out.writerows(records)

for (rows, cols), v in rates.items():
    d = statistics.quantiles(v, n=10)
    print(f"# {rows}x{cols}: median {statistics.median(v):.0f} launches/s, first to ninth decile {d[0]:.0f} to {d[8]:.0f}, {len(v)} bursts")
print(f"# largest relative deviation from a float64 sum: {deviation:.1e}; two bursts per shape went before, unrecorded")
print("# same tensor within a burst, at most 1 MiB: cached. This is a launch rate, and nothing about bandwidth follows from it.")
print(f"# a burst of {BURST} still carries its share of the closing wait; longer bursts were not run")
