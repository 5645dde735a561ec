"""Attention scores for the short-context model, over the head counts that we ship."""
import time

import torch
import torch_npu
from torch.utils import benchmark


def clock():
    torch.npu.synchronize()
    return time.perf_counter()


def scores(q, k, scale):
    return torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * scale, dim=-1)


def timer(batch, heads, length, width=32):
    q = torch.randn(batch, heads, length, width, device="npu")
    k = torch.randn(batch, heads, length, width, device="npu")
    for _ in range(20):
        scores(q, k, width ** -0.5)
    torch.npu.synchronize()
    return benchmark.Timer(
        stmt="scores(q, k, scale)",
        timer=clock,
        globals={"scores": scores, "q": q, "k": k, "scale": width ** -0.5},
        label="attention scores",
    )


CONFIGURATIONS = [
    # batch, heads, length
    (1, 8, 64),
    (1, 16, 64),
    (4, 8, 64),
    (4, 16, 64),
    (4, 16, 128),
]


def main():
    torch.manual_seed(0)
    print("softmax(q k^T * scale), head width 32, float32, q and k re-used (L2 warm)")
    print("| batch | heads | length | us per call |")
    print("|------:|------:|-------:|------------:|")
    for batch, heads, length in CONFIGURATIONS:
        result = timer(batch, heads, length).timeit(60)
        print(f"| {batch:>5} | {heads:>5} | {length:>6} | {result.median * 1e6:>11.3f} |")


if __name__ == "__main__":
    main()
