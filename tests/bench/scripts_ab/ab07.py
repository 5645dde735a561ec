"""RMSNorm of our 7B decoder at batch 8, as eager decode issues it: fused operator against the one written by hand.

We serve exactly one configuration, (8, 4096) float16, so this is the only shape measured and the only one that
the result speaks of.
"""
import random

import numpy as np
import torch
import torch_npu

SHAPE, EPS = (8, 4096), 1e-6
PAIRS = 150

torch.manual_seed(0)
x = torch.randn(*SHAPE, device="npu").half()
gain = torch.rand(SHAPE[1], device="npu").half()


def fused():
    return torch_npu.npu_rms_norm(x, gain, EPS)[0]


def by_hand():
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)).half() * gain


def event():
    return torch.npu.Event(enable_timing=True)


torch.testing.assert_close(fused().cpu(), by_hand().cpu(), rtol=5e-3, atol=5e-3)
for _ in range(50):
    fused(), by_hand()
torch.npu.synchronize()

draw = random.Random(7)
marks = []
for _ in range(PAIRS):
    pair = {}
    for candidate in draw.sample((fused, by_hand), 2):       # who goes first is drawn for each pair
        begin, end = event(), event()
        begin.record()
        candidate()
        end.record()
        pair[candidate.__name__] = begin, end
    marks.append(pair)
torch.npu.synchronize()

us = {name: np.array([1e3 * p[name][0].elapsed_time(p[name][1]) for p in marks]) for name in ("fused", "by_hand")}
ratios = us["by_hand"] / us["fused"]
rng = np.random.default_rng(0)
boots = np.median(rng.choice(ratios, (2000, PAIRS)), axis=1)
for name, values in us.items():
    print(f"{name:8} median {np.median(values):6.2f} us, p10 {np.percentile(values, 10):6.2f}, "
          f"p90 {np.percentile(values, 90):6.2f}, n={PAIRS}")
low, high = np.percentile(boots, (2.5, 97.5))
print(f"by_hand / fused at {SHAPE} float16, eager, events around a call, warm L2: {np.median(ratios):.2f}, 95 % interval [{low:.2f}, {high:.2f}]; "
      "other shapes were not measured")
