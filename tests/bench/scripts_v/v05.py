"""F.scaled_dot_product_attention against matmul-softmax-matmul, causal, forward only."""
import math
import random

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

SHAPES = [(2, 4, 128, 64), (1, 8, 192, 64), (1, 4, 256, 64)]
PAIRS, WARMUP = 40, 8


def composed(q, k, v, mask):
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return torch.softmax(s.masked_fill(mask, float("-inf")), dim=-1) @ v


def library(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def span(fn, args):
    start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    torch.npu.synchronize()
    start.record()
    fn(*args)
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def ratio_ci(a, b, reps=2000, seed=0):
    idx = np.random.default_rng(seed).integers(0, len(a), (reps, len(a)))
    r = np.median(a[idx], axis=1) / np.median(b[idx], axis=1)
    return np.percentile(r, [2.5, 97.5])


@torch.no_grad()
def main():
    torch.manual_seed(0)
    print("event-to-event time of one forward call, fp32, inputs reused (warm cache), mask tensor of the composed side made beforehand;")
    print("the span contains any gap left when the host launches slower than the device runs")
    for b, h, s, d in SHAPES:
        q, k, v = (torch.randn(b, h, s, d, device="npu") for _ in range(3))
        mask = torch.ones(s, s, dtype=torch.bool, device="npu").triu(1)
        args = (q, k, v, mask)
        torch.testing.assert_close(library(*args), composed(*args), rtol=1e-3, atol=1e-4)
        for _ in range(WARMUP):
            span(composed, args), span(library, args)
        ms = {composed: [], library: []}
        for _ in range(PAIRS):
            for fn in random.sample([composed, library], 2):
                ms[fn].append(span(fn, args))
        c, l = np.array(ms[composed]), np.array(ms[library])
        lo, hi = ratio_ci(c, l)
        word = "SDPA faster" if lo > 1 else "SDPA slower" if hi < 1 else "undecided"
        print(f"b{b} h{h} s{s} d{d}: composed {np.median(c):.3f} ms, sdpa {np.median(l):.3f} ms, "
              f"ratio {np.median(c)/np.median(l):.2f}, 95% interval {lo:.2f}..{hi:.2f}, n={PAIRS} -> {word} for this shape")


if __name__ == "__main__":
    main()
