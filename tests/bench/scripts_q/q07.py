"""Throughput of one transformer block (128 tokens, width 128, feed-forward 8192, float32): tokens per second on one NPU."""
import time

import numpy as np
import torch
import torch_npu  # noqa: F401
from torch.nn import functional as F

TOKENS, WIDTH, HEADS, FORWARD = 128, 128, 4, 8192


def weights():
    torch.manual_seed(0)
    shapes = {"qkv": (3 * WIDTH, WIDTH), "out": (WIDTH, WIDTH), "up": (FORWARD, WIDTH), "down": (WIDTH, FORWARD)}
    return {name: (torch.rand(shape) / shape[1]).npu() for name, shape in shapes.items()}


def attention(x, w):
    q, k, v = F.linear(F.layer_norm(x, (WIDTH,)), w["qkv"]).view(TOKENS, 3, HEADS, WIDTH // HEADS).permute(1, 2, 0, 3)
    mixed = F.scaled_dot_product_attention(q[None], k[None], v[None])[0]
    return x + F.linear(mixed.transpose(0, 1).reshape(TOKENS, WIDTH), w["out"])


def feed_forward(x, w):
    return x + F.linear(F.gelu(F.linear(F.layer_norm(x, (WIDTH,)), w["up"])), w["down"])


def block(x, w):
    return feed_forward(attention(x, w), w)


def one_round(x, w, calls):
    """Seconds that `calls` blocks take."""
    begin = time.perf_counter()
    for _ in range(calls):
        block(x, w)
        torch.npu.synchronize()
    return time.perf_counter() - begin


def rounds(count=8, calls=8):
    x, w = torch.rand(TOKENS, WIDTH).npu(), weights()
    one_round(x, w, 5)
    return np.array([one_round(x, w, calls) for _ in range(count)]) / calls


def report(seconds):
    p10, p50, p90 = np.percentile(seconds, [10, 50, 90])
    print(f"per block P10 {p10 * 1e6:.1f}  P50 {p50 * 1e6:.1f}  P90 {p90 * 1e6:.1f} us, {len(seconds)} rounds of 8 blocks")
    print(f"the block sustains {TOKENS / p50 / 1e6:.2f} million tokens/s in batches of {TOKENS} "
          f"({TOKENS / p90 / 1e6:.2f} at P90), weights in the L2")


if __name__ == "__main__":
    with torch.no_grad():
        report(rounds())
