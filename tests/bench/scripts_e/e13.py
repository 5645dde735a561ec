"""rms_norm: composed of torch operators against torch_npu.npu_rms_norm, with torch.utils.benchmark."""
import random

import torch
import torch_npu
from torch.utils import benchmark


def composed(x, weight, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def native(x, weight, eps=1e-6):
    return torch_npu.npu_rms_norm(x, weight, eps)[0]


def timers(rows, hidden):
    x32 = torch.ones(rows, hidden, device="npu")
    w32 = torch.ones(hidden, device="npu")
    x16, w16 = x32.half(), w32.half()
    label = f"rms_norm {rows}x{hidden} (warm L2)"
    return (
        benchmark.Timer("composed(x, w)", globals={"composed": composed, "x": x32, "w": w32}, label=label,
                        description="composed"),
        benchmark.Timer("native(x, w)", globals={"native": native, "x": x16, "w": w16}, label=label,
                        description="npu_rms_norm"),
    )


random.seed(3)
for rows, hidden in [(16, 1024), (128, 2048), (512, 4096)]:
    both = timers(rows, hidden)
    collected = {t: [] for t in both}
    for t in both:
        t.timeit(10)  # warm
    for _ in range(9):
        for t in random.sample(both, 2):  # in turn, the order drawn
            collected[t].append(t.blocked_autorange(min_run_time=0.002))
    a, b = (benchmark.Measurement.merge(collected[t])[0] for t in both)
    print(f"{rows:4d} x {hidden:<5d} composed {a.median * 1e6:7.1f} us (IQR {a.iqr * 1e6:.1f}), "
          f"npu_rms_norm {b.median * 1e6:7.1f} us (IQR {b.iqr * 1e6:.1f}): {a.median / b.median:.2f} times as fast")
