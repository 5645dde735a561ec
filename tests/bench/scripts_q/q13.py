"""Fused attention against softmax(q k^T) v at one shape: 1 x 4 heads x 256 x 64, float16, no mask.

The question comes from one model that runs at this shape only; nothing is said about any other.
"""
import contextlib
import random

import numpy as np
import torch
import torch_npu  # noqa: F401
from torch.nn import functional as F

SHAPE = (1, 4, 256, 64)
SAMPLES = 30


@contextlib.contextmanager
def between_events(into):
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    yield
    end.record()
    into.append((start, end))


def fused(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def composed(q, k, v):
    scores = (q * SHAPE[-1] ** -0.5) @ k.transpose(-1, -2)
    return torch.softmax(scores, -1) @ v


torch.manual_seed(0)
with torch.no_grad():
    inputs = [torch.randn(SHAPE).half().npu() for _ in range(3)]
    far = (fused(*inputs).float().cpu() - composed(*inputs).float().cpu()).abs().max().item()
    assert far < 5e-3, f"the two differ by {far}"
    marks = {fused: [], composed: []}
    for _ in range(5):
        for way in marks:
            way(*inputs)
    torch.npu.synchronize()
    dice = random.Random(5)
    for _ in range(SAMPLES):
        for way in dice.sample(list(marks), 2):
            with between_events(marks[way]):
                way(*inputs)
    torch.npu.synchronize()

us = {way: np.array([1e3 * start.elapsed_time(end) for start, end in pairs]) for way, pairs in marks.items()}
for way, values in us.items():
    p10, p50, p90 = np.percentile(values, [10, 50, 90])
    print(f"{way.__name__:9} P10 {p10:6.1f}  P50 {p50:6.1f}  P90 {p90:6.1f} us  n={len(values)}")
low, mid, high = np.percentile(us[composed] / us[fused], [10, 50, 90])
print(f"at {'x'.join(map(str, SHAPE))}, float16, inputs in the L2: composed takes {mid:.2f} times as long "
      f"(P10 {low:.2f}, P90 {high:.2f}); this says nothing about other lengths or head counts")
