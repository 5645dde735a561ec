"""Percentiles by hand over torch.utils.benchmark: each sample is one timeit of 20 calls. Data stays in the L2."""
import torch
import torch_npu
from torch.utils.benchmark import Timer


def rank(values, share):
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])


for n in (128, 512, 1024):
    x = torch.ones(n, n).npu()
    t = Timer("x.cumsum(0)", globals={"x": x})
    t.timeit(5)
    s = [t.timeit(20).mean * 1e6 for _ in range(31)]
    print(f"cumsum {n}x{n}: P10 {rank(s, .1):.2f}  P50 {rank(s, .5):.2f}  P90 {rank(s, .9):.2f} us of {len(s)} samples")
