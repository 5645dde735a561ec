# relu or clamp? Paired, L2 flushed before each pair, device events, interval from a bootstrap.
import numpy as np
import torch
import labkit  # noqa: F401

SHAPE = (2048, 4096)          # fp32, 32 MiB
PAIRS = 40

x = torch.randn(SHAPE).npu()
out = torch.empty_like(x)
scratch = torch.empty(56 * 1024 * 1024, device="npu")   # 224 MiB, more than the L2 holds


def with_relu():
    torch.clamp_min(x, 0.0, out=out)


def with_clamp():
    torch.clamp(x, 0.0, 3.0e38, out=out)


def event():
    return torch.npu.Event(enable_timing=True)


def bracket(fn):
    a, b = event(), event()
    a.record()
    fn()
    b.record()
    return a, b


def collect(pairs):
    rows = []
    for _ in range(pairs):
        scratch.zero_()       # nothing of x is left on the chip
        rows.append((bracket(with_relu), bracket(with_clamp)))
    torch.npu.synchronize()
    return np.array([[1e3 * a.elapsed_time(b) for a, b in row] for row in rows])


def bootstrap(ratios, draws=2000, seed=3):
    rng = np.random.default_rng(seed)
    medians = np.median(rng.choice(ratios, (draws, len(ratios))), axis=1)
    return np.percentile(medians, [2.5, 97.5])


with_relu(), with_clamp()
same = torch.equal(torch.clamp_min(x, 0.0), torch.clamp(x, 0.0, 3.0e38))
collect(5)                    # warm
us = collect(PAIRS)
ratio = us[:, 1] / us[:, 0]
low, high = bootstrap(ratio)
print(f"same numbers: {same}")
for name, column in zip(("clamp_min", "clamp(0, inf)"), us.T):
    p = np.percentile(column, [10, 50, 90])
    print(f"{name:14} P10 {p[0]:6.1f}  P50 {p[1]:6.1f}  P90 {p[2]:6.1f} us")
word = "faster" if high < 1 else "slower" if low > 1 else "no different"
print(f"{SHAPE[0]} x {SHAPE[1]} fp32, L2 cold, {PAIRS} pairs: the two-sided clamp is {word} than clamp_min, "
      f"time ratio {np.median(ratio):.3f} (95 %: {low:.3f} to {high:.3f})")
