"""How long does our attention score take? One figure per shape for the release notes."""

from functools import partial

import torch
import torch_npu  # noqa: F401

REPEATS = 60


def scores(q, k, scale):
    return torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * scale, dim=-1)


def per_call_us(call, repeats):
    for _ in range(10):
        call()
    torch.npu.synchronize()
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    begin.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / repeats


for heads, length, width in ((8, 128, 64), (8, 256, 64), (16, 256, 128)):
    q = torch.rand(heads, length, width).half().npu()
    k = torch.rand(heads, length, width).half().npu()
    us = per_call_us(partial(scores, q, k, width**-0.5), REPEATS)
    print(
        f"- attention scores, fp16, heads {heads}, length {length}, width {width}, same inputs again (warm L2): {us:.1f} us"
    )
