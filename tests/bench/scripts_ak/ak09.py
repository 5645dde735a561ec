"""Does dropout gain from a second stream? Two halves on one stream, against one half on each of two."""
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

P = 0.1
ROUNDS = 30
LAYERS = 2

left, right = torch.npu.Stream(), torch.npu.Stream()


def one_stream(a, b):
    with torch.npu.stream(left):
        for _ in range(LAYERS):
            a = F.dropout(a, P)
            b = F.dropout(b, P)
    return a, b


def two_streams(a, b):
    with torch.npu.stream(left):
        for _ in range(LAYERS):
            a = F.dropout(a, P)
    with torch.npu.stream(right):
        for _ in range(LAYERS):
            b = F.dropout(b, P)
    return a, b


def timed(fn, a, b):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    out = fn(a, b)
    left.synchronize()
    right.synchronize()
    return time.perf_counter() - t0, out


def kept(t):
    return (t != 0).float().mean().item()


for rows, cols in [(256, 512), (256, 1024), (512, 1024)]:
    pairs = [tuple(torch.ones(rows, cols, device="npu") for _ in "ab") for _ in range(3)]
    fns = [one_stream, two_streams]
    for fn in fns:
        for a, b in pairs:
            _, out = timed(fn, a, b)
        share = [kept(t) for t in out]
        assert all(abs(s - (1 - P) ** LAYERS) < 0.02 for s in share), share
        del out

    us = {fn.__name__: [] for fn in fns}
    for r in range(ROUNDS):
        for fn in fns if r % 2 else reversed(fns):
            seconds, out = timed(fn, *pairs[r % 3])
            us[fn.__name__].append(seconds * 1e6)
            del out
    print(f"dropout p={P}, {LAYERS} layers on two tensors [{rows}, {cols}] float32, inputs reused (L2 hot), {ROUNDS} rounds")
    for name, v in us.items():
        lo, mid, hi = np.percentile(v, [10, 50, 90])
        print(f"  {name:12s} {mid:8.2f} us until both tensors are done (p10 {lo:.2f}, p90 {hi:.2f})")
    ratio = np.array(us["one_stream"]) / np.array(us["two_streams"])
    lo, mid, hi = np.percentile(ratio, [10, 50, 90])
    print(f"  one stream takes {mid:.2f}x the time of two (p10 {lo:.2f}, p90 {hi:.2f} over the rounds)")
