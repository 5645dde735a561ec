"""GELU, both formulas: elements a second over a stretch of time, never more than three chunks in flight."""
import time
from collections import deque

import torch
import torch.nn.functional as F
import torch_npu

STRETCH_S, TURNS, CHUNK = 0.002, 8, 10
SHAPES = [(128, 512), (256, 1024)]


def stretch(function, x, seconds):
    """Chunks are issued until the time is over; the rest is waited for and counts, time and work."""
    torch.npu.synchronize()
    flying, done = deque(), 0
    began = time.monotonic_ns()
    while True:
        for _ in range(CHUNK):
            function(x)
        mark = torch.npu.Event()
        mark.record()
        flying.append(mark)
        done += CHUNK
        if len(flying) > 3:
            flying.popleft().synchronize()
        if time.monotonic_ns() - began >= seconds * 1e9:
            break
    torch.npu.synchronize()
    return done * x.numel() / ((time.monotonic_ns() - began) / 1e9), done


def erf(x):
    return F.gelu(x)


def tanh(x):
    return F.gelu(x, approximate="tanh")


def middle(values):
    s = sorted(values)
    return s[len(s) // 2] if len(s) % 2 else (s[len(s) // 2 - 1] + s[len(s) // 2]) / 2


print(f"GELU forward, float32, same input again and again (hot L2), stretches of {STRETCH_S * 1e3:.0f} ms, {TURNS} for each formula, ABBA")
for shape in SHAPES:
    host = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    x = host.npu()
    for formula in erf, tanh:
        assert torch.allclose(formula(x).cpu(), formula(host), atol=1e-5)
        stretch(formula, x, STRETCH_S)
    apart = (erf(x) - tanh(x)).abs().max().item()
    rates, calls = {erf: [], tanh: []}, {erf: 0, tanh: 0}
    for turn in range(TURNS):
        for formula in (erf, tanh) if turn % 2 == 0 else (tanh, erf):
            rate, done = stretch(formula, x, STRETCH_S)
            rates[formula].append(rate)
            calls[formula] += done
    print(f"{shape[0]} x {shape[1]}; the formulas themselves differ by up to {apart:.1e}")
    for formula, r in rates.items():
        print(f"  {formula.__name__:5} {middle(r) / 1e9:8.3f} G elements/s, lowest stretch {min(r) / 1e9:.3f}, highest {max(r) / 1e9:.3f} ({calls[formula]} calls)")
print("Rates of issuing and computing together, for these two shapes; at the smaller one the host's part is large.")
