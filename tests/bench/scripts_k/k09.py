"""Sine and cosine: the warm-up reads the clock until it is steady, but only ever runs the sine."""

import statistics
import time

import torch
import torch_npu  # noqa: F401


def sample(function, x):
    torch.npu.synchronize()
    begin = time.perf_counter()
    function(x)
    torch.npu.synchronize()
    return (time.perf_counter() - begin) * 1e6


def settle(x):
    before = sample(torch.sin, x)
    while abs((now := sample(torch.sin, x)) - before) > 0.05 * before:
        before = now


for side in (2048, 4096):
    x = torch.rand(side, side).npu()
    settle(x)
    for function in (torch.sin, torch.cos):
        us = [sample(function, x) for _ in range(30)]
        print(f"{function.__name__} float32 ({side}, {side}), warm L2, a call and its wait: mean {statistics.mean(us):.1f} us, stdev {statistics.stdev(us):.1f}, max {max(us):.1f}")
