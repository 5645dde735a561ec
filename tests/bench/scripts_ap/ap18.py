"""F.linear(x, w, b) or torch.addmm(b, x, w.T)? Paired rounds, and no verdict where the interval holds zero."""
import random
import time
from statistics import median

import torch
import torch.nn.functional as F
import torch_npu

random.seed(0)
torch.manual_seed(0)
ROUNDS, WARM = 60, 10


def tick(fn, x):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    fn(x)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6


def interval(diffs, draws=2000):
    """95 % bootstrap interval of the median."""
    medians = sorted(median(random.choices(diffs, k=len(diffs))) for _ in range(draws))
    return medians[int(.025 * draws)], medians[int(.975 * draws) - 1]


for m, k, n in [(32, 512, 512), (128, 512, 256), (256, 256, 1024)]:
    w, b = torch.randn(n, k, device="npu").half(), torch.randn(n, device="npu").half()
    linear = lambda x: F.linear(x, w, b)
    addmm = lambda x: torch.addmm(b, x, w.t())
    # each round has an input of its own, and each candidate its own copy of it, so neither finds what the other loaded
    xs = [torch.randn(m, k, device="npu").half() for _ in range(WARM + ROUNDS)]
    copies = [x.clone() for x in xs]
    torch.testing.assert_close(linear(xs[0]).cpu(), addmm(copies[0]).cpu(), rtol=1e-2, atol=1e-1)
    for x, c in zip(xs[:WARM], copies[:WARM]):
        linear(x), addmm(c)

    a_us, b_us = [], []
    for r in range(ROUNDS):
        x, c = xs[WARM + r], copies[WARM + r]
        if r % 4 >= 2:
            x, c = c, x
        if r % 2 == 0:
            a_us.append(tick(linear, x))
            b_us.append(tick(addmm, c))
        else:
            b_us.append(tick(addmm, c))
            a_us.append(tick(linear, x))

    diffs = [a - b_ for a, b_ in zip(a_us, b_us)]
    low, high = interval(diffs)
    verdict = "no difference shown" if low <= 0 <= high else ("addmm is faster" if low > 0 else "linear is faster")
    for name, s in (("linear", sorted(a_us)), ("addmm", sorted(b_us))):
        print(f"{m}x{k}x{n} fp16 {name:6s} median {median(s):7.2f} us, p10 {s[ROUNDS // 10]:.2f}, p90 {s[ROUNDS * 9 // 10]:.2f}")
    print(f"{m}x{k}x{n} linear - addmm: median {median(diffs):+.3f} us, 95 % interval [{low:+.3f}, {high:+.3f}], {ROUNDS} pairs "
          f"-> {verdict} at this shape (weights and inputs in L2, host call to device idle)")
