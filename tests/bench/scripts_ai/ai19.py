"""Causal attention: our version against scaled_dot_product_attention, as tests.  python ai19.py"""
import math

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

SHAPES = [(1, 4, 48, 32), (2, 4, 64, 32), (1, 4, 96, 64)]
ROUNDS, WARM = 60, 10


def library(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


class Ours:
    """Products, mask and softmax by hand; masks are kept."""

    def __init__(self):
        self.masks = {}

    def __call__(self, q, k, v):
        n = q.shape[-2]
        if n not in self.masks:
            self.masks[n] = torch.full((n, n), -math.inf).triu(1).npu()
        scores = torch.matmul(q, k.transpose(-2, -1)).mul_(q.shape[-1] ** -0.5).add_(self.masks[n])
        return torch.matmul(scores.softmax(-1), v)


ours = Ours()


def inputs(shape):
    gen = torch.Generator().manual_seed(shape[2])
    return [torch.randn(shape, generator=gen).npu() for _ in range(3)]


def microseconds(functions, args):
    marks = {f: [] for f in functions}
    for r in range(ROUNDS):
        for f in functions[::1 if r % 2 else -1]:
            a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            a.record()
            f(*args)
            b.record()
            marks[f].append((a, b))
    torch.npu.synchronize()
    return [np.array([1e3 * a.elapsed_time(b) for a, b in marks[f]]) for f in functions]


def test_output(shape):
    q, k, v = inputs(shape)
    for f in library, ours:
        y = f(q, k, v)
        assert y.shape == q.shape and y.dtype == q.dtype
        assert torch.isfinite(y).all().item()


def test_time(shape):
    args = inputs(shape)
    for f in (library, ours) * WARM:
        f(*args)
    torch.npu.synchronize()
    theirs, mine = microseconds([library, ours], args)
    assert theirs.min() > 0 and mine.min() > 0
    for name, us in ("library", theirs), ("ours", mine):
        q1, q2, q3 = np.percentile(us, [25, 50, 75])
        print(f"   {name:8} {q2:7.2f} us (quartiles {q1:.2f} .. {q3:.2f}, max {us.max():.2f})")
    q1, q2, q3 = np.percentile(theirs / mine, [25, 50, 75])
    print(f"   library / ours {q2:.3f} ({q1:.3f} .. {q3:.3f})")


print(f"causal attention forward, float32, hot L2, {ROUNDS} rounds taking turns, events; statements hold for the shapes listed")
for shape in SHAPES:
    print(f"batch {shape[0]}, heads {shape[1]}, length {shape[2]}, dim {shape[3]}")
    test_output(shape)
    test_time(shape)
print("passed")
