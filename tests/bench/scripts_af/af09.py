import labkit
import random

import numpy as np
import torch

# Rows gathered a second, over the number of rows that one call gathers.
ENTRIES, WIDTH = 65_536, 128
BATCHES = [64, 256, 1024, 4096, 16_384, 32_768]
ROUNDS, CALLS, NEAR = 12, 10, 0.9

torch.manual_seed(9)
table = torch.randn(ENTRIES, WIDTH, device="npu")
indices = {n: [torch.randint(0, ENTRIES, (n,), device="npu") for _ in range(CALLS)] for n in BATCHES}

for n in BATCHES:
    rows = table.index_select(0, indices[n][0])
    assert torch.equal(rows.cpu(), table.cpu()[indices[n][0].cpu()])


def gather(n):
    marks = []
    for index in indices[n]:
        begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        begin.record()
        table.index_select(0, index)
        end.record()
        marks.append((begin, end))
    return marks


for n in BATCHES:
    for _ in range(3):
        gather(n)

marks = {n: [] for n in BATCHES}
shuffle = random.Random(9)
for _ in range(ROUNDS):
    for n in shuffle.sample(BATCHES, len(BATCHES)):
        marks[n] += gather(n)  # sizes alternate, so a drift would meet all of them
torch.npu.synchronize()

print(f"index_select from {ENTRIES} x {WIDTH} float32 ({table.nbytes >> 20} MiB, warm in the L2), random int64 indices")
print(f"device time by events, {ROUNDS * CALLS} samples for each size, {CALLS} index sets in turn")
rate = {}
for n in BATCHES:
    us = np.array([1e3 * begin.elapsed_time(end) for begin, end in marks[n]])
    p25, p50, p75 = np.percentile(us, [25, 50, 75])
    rate[n] = n / p75, n / p50
    print(f"{n:6} rows: median {p50:7.2f} us (P25 {p25:.2f}, P75 {p75:.2f}), {n / p50:8.1f} million rows a second")

best = max(BATCHES, key=lambda n: rate[n][1])
enough = next(n for n in BATCHES if rate[n][0] >= NEAR * rate[best][1] or n == best)
if best == BATCHES[-1]:
    print(f"The rate is highest at the largest size tried, {best} rows: it may rise beyond it, so there is no optimum to report.")
print(f"Among the sizes tried, {enough} rows is the smallest whose slower quartile is within {100 - 100 * NEAR:.0f} % of the best median.")
