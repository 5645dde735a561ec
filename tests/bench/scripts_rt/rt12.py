# group_norm over a grid of shapes; everything statistical comes from the standard library's `statistics`.
import random
import statistics as stats
import time

import torch
import torch_npu
from torch.nn.functional import group_norm

GRID = [(n, c, hw) for n in (2, 8) for c in (16, 64) for hw in (8, 16)]
GROUPS, REPS = 8, 40
random.seed(12)
torch.manual_seed(12)

inputs = {s: torch.randn(s[0], s[1], s[2], s[2], device="npu") for s in GRID}
samples = {s: [] for s in GRID}


def timed(x):
    torch.npu.synchronize()
    t = time.perf_counter()
    group_norm(x, GROUPS)
    torch.npu.synchronize()
    return (time.perf_counter() - t) * 1e6


for s, x in inputs.items():
    delta = group_norm(x, GROUPS).cpu().double() - group_norm(x.cpu().double(), GROUPS)
    assert delta.abs().max() < 1e-4, s
    for _ in range(4):
        timed(x)

for _ in range(REPS):
    for s in random.sample(GRID, len(GRID)):
        samples[s].append(timed(inputs[s]))

print(f"{'N':>3}{'C':>5}{'HxW':>7}{'elements':>10}{'median':>10}{'stdev':>9}{'q1':>9}{'q3':>9}{'min':>9}{'max':>9}   [us]")
rows = []
for s in sorted(GRID, key=lambda s: s[0] * s[1] * s[2] ** 2):
    v = samples[s]
    q1, med, q3 = stats.quantiles(v, n=4, method="inclusive")
    elements = inputs[s].numel()
    rows.append((elements, med, q1, q3))
    print(f"{s[0]:3d}{s[1]:5d}{s[2]:4d}x{s[2]:<2d}{elements:10d}{med:10.2f}{stats.stdev(v):9.2f}{q1:9.2f}{q3:9.2f}{min(v):9.2f}{max(v):9.2f}")

low, high = min(rows, key=lambda r: r[1]), max(rows, key=lambda r: r[1])
work = max(r[0] for r in rows) / min(r[0] for r in rows)
print(f"\nOver all {len(rows)} shapes tried (N 2-8, C 16-64, 8x8 and 16x16, {GROUPS} groups, no affine, fp32):")
print(f"  medians run from {low[1]:.2f} us ({low[0]} elements) to {high[1]:.2f} us ({high[0]} elements), a factor of {high[1] / low[1]:.2f},")
print(f"  while the number of elements varies by a factor of {work:.0f}.")
if high[1] / low[1] < work / 2:
    print("  So in this grid the time per call grows far less than the work: I read it as mostly fixed cost per call.")
elif low[0] == rows[0][0] and high[0] == rows[-1][0]:
    print("  So in this grid the time per call follows the work, at least roughly.")
else:
    print("  So in this grid the medians show no simple relation to the work; look at the quartiles first.")
print(f"  {REPS} calls per shape, shapes shuffled anew each pass, wait included, inputs reused and hence cached, all values kept;")
print("  results agree with a double-precision group_norm to 1e-4. Large feature maps are outside of what was tried.")
