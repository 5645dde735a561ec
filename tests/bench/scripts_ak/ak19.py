"""Scaled dot product attention, causal: time of a forward pass."""
import time

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401


def make_clock():
    began = 0

    def start():
        nonlocal began
        torch.npu.synchronize()
        began = time.perf_counter_ns()

    def stop():
        torch.npu.synchronize()
        return (time.perf_counter_ns() - began) / 1e3

    return start, stop


def make_forward(batch, heads, length, dim, dtype, sets=3):
    shape = (batch, heads, length, dim)
    qkv = [tuple(torch.randn(shape, device="npu").to(dtype) for _ in range(3)) for _ in range(sets)]
    turn = 0

    def forward():
        nonlocal turn
        q, k, v = qkv[turn % sets]
        turn += 1
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    q, k, v = (t.float().cpu() for t in qkv[0])
    want = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(forward().float().cpu(), want, rtol=2e-2, atol=2e-2)
    return forward


def make_benchmark(forward, calls=4, blocks=30, warmup=12):
    start, stop = make_clock()

    def run():
        for _ in range(warmup):
            forward()
        figures = []
        for _ in range(blocks):
            start()
            for _ in range(calls):
                forward()
            figures.append(stop() / calls)
        return sorted(figures)

    return run


print("attention forward, causal, bfloat16; wall time in blocks of 4 calls, 30 blocks, three inputs in turn (L2 hot)")
for shape in [(1, 4, 128, 64), (1, 4, 256, 64), (2, 4, 256, 64)]:
    ms = make_benchmark(make_forward(*shape, dtype=torch.bfloat16))()
    p10, p50, p90 = (ms[round(q * (len(ms) - 1))] for q in (0.1, 0.5, 0.9))
    b, h, s, d = shape
    print(f"  B={b} H={h} S={s} D={d}: {p50:8.3f} ms a forward pass (p10 {p10:.3f}, p90 {p90:.3f})")
