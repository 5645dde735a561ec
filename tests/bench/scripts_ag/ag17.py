import labkit
import random

import numpy as np
import torch
import torch.nn.functional as F

ROWS, WIDTH, PICKS, ROUNDS = 32000, 256, 16384, 40
VARIANTS = {
    "table[index]": lambda table, index, wide: table[index],
    "index_select": lambda table, index, wide: table.index_select(0, index),
    "F.embedding": lambda table, index, wide: F.embedding(index, table),
    "torch.gather": lambda table, index, wide: torch.gather(table, 0, wide),
}

torch.manual_seed(3)
dice = random.Random(3)
table = torch.randn(ROWS, WIDTH, device="npu")
draws = []
for _ in range(8):
    index = torch.randint(0, ROWS, (PICKS,), device="npu")
    draws.append((index, index[:, None].expand(-1, WIDTH)))

for index, wide in draws:                     # same rows from all, and the warm-up
    results = [f(table, index, wide) for f in VARIANTS.values()]
    assert all(torch.equal(results[0], other) for other in results[1:])
torch.npu.synchronize()

filler = torch.zeros(4096, 2048, device="npu")  # work in front of each sample, so that the device never waits for the host
taken = {name: [] for name in VARIANTS}
for r in range(ROUNDS):
    index, wide = draws[r % len(draws)]
    for name in dice.sample(list(VARIANTS), len(VARIANTS)):
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        filler.add_(1.0)
        a.record()
        VARIANTS[name](table, index, wide)
        b.record()
        taken[name].append((a, b))
torch.npu.synchronize()

us = {name: np.array([1e3 * a.elapsed_time(b) for a, b in pairs]) for name, pairs in taken.items()}
ranking = sorted(us, key=lambda name: np.median(us[name]))
best = ranking[0]
print(f"{PICKS} rows of {WIDTH} float32 out of {ROWS}, random indices; {ROUNDS} rounds, all four in each, order drawn anew")
print("device time by events, behind 32 MiB of other work each; table, rows and that work fit into the L2 (warm) for all")
for place, name in enumerate(ranking, 1):
    q1, q2, q3 = np.percentile(us[name], [25, 50, 75])
    r1, r2, r3 = np.percentile(us[name] / us[best], [25, 50, 75])
    level = "" if name == best else (
        f", {r2:.2f} times {best} (middle half of the rounds {r1:.2f} to {r3:.2f})" if r1 > 1.02 else f", no clear difference to {best}")
    print(f"{place}. {name:13} median {q2:.1f} us (quartiles {q1:.1f}, {q3:.1f}){level}")
print("The ranking is of this table and this number of picks; with others it may differ.")
