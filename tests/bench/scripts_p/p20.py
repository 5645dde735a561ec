"""timeit.repeat with a wait at the end of each statement's block."""
import statistics
import timeit

import torch
import torch_npu  # noqa: F401

SETUP = "import torch, torch_npu; a = torch.ones({n}, device='npu'); b = a + 1; torch.npu.synchronize()"
BLOCK = "for _ in range(20): torch.add(a, b)\ntorch.npu.synchronize()"
for n in (1000, 100_000, 1_000_000):
    timeit.timeit(BLOCK, SETUP.format(n=n), number=3)
    seconds = timeit.repeat(BLOCK, SETUP.format(n=n), number=1, repeat=25)
    us = [s / 20 * 1e6 for s in seconds]
    print(f"torch.add, {n} floats: {min(us):.2f} / {statistics.median(us):.2f} / {max(us):.2f} us (least, median, most of {len(us)})")
