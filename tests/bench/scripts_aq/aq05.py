"""Latency of an attention-mask fill (torch.where) on a mix of request lengths."""
import random
import time
from collections import Counter

import torch
import torch_npu

random.seed(5)
WIDTH, REQUESTS = 512, 40
FLOOR = -1e4


def masked(mask, x, floor):
    return torch.where(mask, x, floor)


def sample(args):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    masked(*args)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6


def histogram(lengths):
    bins = Counter(n.bit_length() for n in lengths)
    for bits in sorted(bins):
        print(f"  {2 ** (bits - 1):5d} to {2 ** bits - 1:5d} rows  {'#' * bins[bits]}")


for longest in (256, 1024, 4096):
    floor = torch.full((), FLOOR, device="npu")
    lengths = [max(8, int(longest * random.random() ** 3)) for _ in range(REQUESTS)]
    pool = {n: torch.randn(n, WIDTH, device="npu") for n in set(lengths)}
    inputs = [(pool[n] > 0, pool[n], floor) for n in lengths]
    x = inputs[0][1].cpu()
    assert torch.equal(masked(*inputs[0]).cpu(), torch.where(x > 0, x, torch.tensor(FLOOR)))
    for args in inputs:
        masked(*args)
    torch.npu.synchronize()

    took = [sample(args) for args in inputs]
    print(f"where on up to {longest} rows of {WIDTH} fp32, {REQUESTS} requests:")
    histogram(lengths)
    print(f"  a masked fill of this mix takes {sum(took) / len(took):.3f} us, "
          f"so each request waits {sum(took) / len(took):.3f} us for it")
print("Launch plus wait of one call, inputs resident in L2, mask made beforehand.")
