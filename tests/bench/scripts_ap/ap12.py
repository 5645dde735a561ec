"""Dropout + scale in a decoder block: compiled function called step by step, against a replayed graph."""
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

dev = "npu"
ROUNDS, SHAPE = 24, (256, 512)


def block(x, p):
    return F.dropout(x, p, training=True) * 0.5


def plausible(y, x, p):
    kept = (y != 0).float().mean().item()
    assert abs(kept - (1 - p)) < 0.02, kept
    mask = y != 0
    torch.testing.assert_close(y[mask].cpu(), (x[mask] * (0.5 / (1 - p))).cpu())


def clock(fn):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    fn()
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6


x = torch.randn(SHAPE, device=dev)
for p in (0.1, 0.3):
    static_in = x.clone()
    side = torch.npu.Stream()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        for _ in range(10):
            block(static_in, p)
    torch.npu.current_stream().wait_stream(side)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        static_out = block(static_in, p)
    for _ in range(10):
        graph.replay()
        block(x, p)
    torch.npu.synchronize()

    step = torch.compile(lambda t, p=p: block(t, p), dynamic=False)
    out = {}
    candidates = {"compiled call": lambda: out.update(y=step(x)), "graph replay": graph.replay}
    us = {name: [] for name in candidates}
    for r in range(ROUNDS):
        for name in (list(candidates) if r % 2 else list(candidates)[::-1]):
            us[name].append(clock(candidates[name]))
    plausible(out["y"], x, p)
    plausible(static_out, static_in, p)

    print(f"dropout p={p} and scale, fp32 {SHAPE}, input hot in L2, host call to device idle, {ROUNDS} alternating rounds")
    for name, s in us.items():
        print(f"   {name:14s} mean {np.mean(s):10.2f} us   min {min(s):8.2f}   median {np.median(s):8.2f}   max {max(s):10.2f}")
    print(f"   a replay costs {np.mean(us['graph replay']) / np.mean(us['compiled call']):.3f} of a compiled step (means)")
