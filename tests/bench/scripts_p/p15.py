"""Transposed copies against plain ones: all runs of all candidates and sizes are one list, shuffled once."""
import random
import time
from collections import defaultdict
from statistics import quantiles

import torch
import torch_npu  # noqa: F401

SEED = 41
candidates = {"plain": lambda x: x.clone(), "transposed": lambda x: x.t().contiguous()}
matrices = {n: torch.ones(n, n).npu() for n in (256, 1024)}
runs = [(name, n) for name in candidates for n in matrices for _ in range(20)]
random.Random(SEED).shuffle(runs)


def lap(function, x):
    torch.npu.synchronize()
    t = time.perf_counter()
    for _ in range(10):
        function(x)
    torch.npu.synchronize()
    return (time.perf_counter() - t) / 10 * 1e6


for function in candidates.values():
    for x in matrices.values():
        lap(function, x)

got = defaultdict(list)
for name, n in runs:
    got[name, n].append(lap(candidates[name], matrices[n]))
for (name, n), us in sorted(got.items()):
    a, b, c = quantiles(us, n=4)
    print(f"{name:10} {n}x{n} fp32: {b:.2f} us ({a:.2f} to {c:.2f}), 20 runs, order drawn with seed {SEED}")
for n in matrices:
    a, b = quantiles(got["plain", n], n=4)[1], quantiles(got["transposed", n], n=4)[1]
    print(f"{n}: transposed takes {b / a:.2f} times as long as plain")
