"""layer_norm: takes samples until the median's 95 % interval (order statistics) is narrower than 2 %."""
import math
import time

import torch
import torch_npu  # noqa: F401


def sample(norm, x, calls=12):
    torch.npu.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        norm(x)
    torch.npu.synchronize()
    return (time.perf_counter() - start) / calls


def median_interval(ordered):
    n = len(ordered)
    lo = max(0, math.floor(n / 2 - 0.98 * math.sqrt(n)))
    hi = min(n - 1, math.ceil(n / 2 + 0.98 * math.sqrt(n)))
    return ordered[lo], ordered[n // 2], ordered[hi]


for width in (256, 1536):
    norm, x = torch.nn.LayerNorm(width).npu(), torch.ones(333, width).npu()
    while sample(norm, x) > 1.1 * sample(norm, x):  # warm up until a second look is no faster
        pass
    times = []
    while True:
        times.append(sample(norm, x))
        if len(times) < 20:
            continue
        lo, mid, hi = median_interval(sorted(times))
        if hi - lo < 0.02 * mid or len(times) >= 500:
            break
    print(f"LayerNorm({width}) on (333, {width}): {mid * 1e6:.2f} us [{lo * 1e6:.2f}, {hi * 1e6:.2f}] from {len(times)} samples; the tensor stays in L2")
