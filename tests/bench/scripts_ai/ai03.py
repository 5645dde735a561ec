"""silu gate: F.silu(g) * u or g * sigmoid(g) * u?"""
import random

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

ROUNDS = 100


def two_launches(g, u):
    return F.silu(g) * u


def three_launches(g, u):
    return g * torch.sigmoid(g) * u


def lap(f, g, u):
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a.record()
    f(g, u)
    b.record()
    return a, b


def microseconds(pairs):
    us = np.array([1e3 * a.elapsed_time(b) for a, b in pairs])
    return us[us < 1.2 * np.median(us)]


def compare(tokens, hidden):
    torch.manual_seed(tokens)
    g, u = torch.randn(tokens, hidden).npu(), torch.randn(tokens, hidden).npu()
    torch.testing.assert_close(two_launches(g, u), three_launches(g, u), rtol=1e-4, atol=1e-5)
    functions = [two_launches, three_launches]
    for f in functions * 15:
        f(g, u)
    torch.npu.synchronize()
    rng, pairs = random.Random(hidden), {f: [] for f in functions}
    for _ in range(ROUNDS):
        rng.shuffle(functions)
        for f in functions:
            pairs[f].append(lap(f, g, u))
    torch.npu.synchronize()
    return {f: microseconds(p) for f, p in pairs.items()}


print(f"float32, hot L2, device time by events, {ROUNDS} rounds in drawn order")
for shape in (32, 1024), (64, 1024), (128, 1024):
    us = compare(*shape)
    print(f"{shape[0]} x {shape[1]}")
    for f, t in us.items():
        p10, p50, p90 = np.percentile(t, [10, 50, 90])
        print(f"  {f.__name__:15} P10 {p10:6.2f}  P50 {p50:6.2f}  P90 {p90:6.2f}  longest {t.max():6.2f} us")
    a, b = us[two_launches], us[three_launches]
    print(f"  at this shape two launches take {np.median(a) / np.median(b):.2f} of the time of three; the longest of all calls took {max(a.max(), b.max()):.2f} us")
