"""Fused attention against the hand-written one, decoder block sizes."""
import math
import random
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F

import labkit  # noqa: F401


@dataclass(frozen=True)
class Shape:
    b: int
    h: int
    s: int
    d: int

    def qkv(self):
        g = lambda: torch.randn(self.b, self.h, self.s, self.d, device="npu", dtype=torch.float16)
        return g(), g(), g()


@dataclass
class Log:
    ms: dict = field(default_factory=dict)

    def put(self, name, v):
        self.ms.setdefault(name, []).append(v)


def by_hand(q, k, v):
    scale = 1.0 / math.sqrt(q.shape[-1])
    p = torch.softmax((q @ k.transpose(-2, -1)) * scale, dim=-1)
    return p @ v


def fused(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def sample(fn, args, n=3):
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a.record()
    for _ in range(n):
        fn(*args)
    b.record()
    b.synchronize()
    return a.elapsed_time(b) / n


def compare(shape, rounds=10):
    args = shape.qkv()
    variants = [by_hand, fused]
    for fn in variants:
        for _ in range(3):
            fn(*args)
    torch.npu.synchronize()
    log = Log()
    for _ in range(rounds):
        random.shuffle(variants)
        for fn in variants:
            log.put(fn.__name__, sample(fn, args))
    return log


random.seed(7)
for shape in (Shape(1, 8, 128, 64), Shape(1, 8, 256, 64), Shape(2, 8, 512, 64)):
    log = compare(shape)
    r = np.array(log.ms["by_hand"]) / np.array(log.ms["fused"])
    lo, mid, hi = np.percentile(r, [5, 50, 95])
    verdict = "fused is faster" if lo > 1 else "by hand is faster" if hi < 1 else "no clear difference"
    print(f"{shape}: by hand {np.median(log.ms['by_hand']):.3f} ms, fused {np.median(log.ms['fused']):.3f} ms, "
          f"ratio {mid:.2f} [{lo:.2f}, {hi:.2f}]: {verdict}")
