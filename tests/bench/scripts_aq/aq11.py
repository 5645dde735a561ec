"""Decode-time matmul (a few tokens by a weight matrix): how fast are weights read from HBM?"""
import statistics
import time

import torch
import torch_npu

ROUNDS, CALLS = 9, 8


def weights(k, n):
    w = torch.randn(k, n, device="npu", dtype=torch.float16)
    while True:
        yield w


def rounds(tokens, k, n):
    x = torch.randn(tokens, k, device="npu", dtype=torch.float16)
    source = weights(k, n)
    for _ in range(5):
        x @ next(source)
    for _ in range(ROUNDS):
        batch = [next(source) for _ in range(CALLS)]
        torch.npu.synchronize()
        t0 = time.perf_counter()
        for w in batch:
            x @ w
        torch.npu.synchronize()
        yield (time.perf_counter() - t0) / CALLS


for tokens, k, n in [(1, 2048, 2048), (1, 2048, 4096), (2, 4096, 4096)]:
    samples = sorted(rounds(tokens, k, n))
    moved = 2 * (k * n + tokens * (k + n))
    med = statistics.median(samples)
    print(f"{tokens} x {k} by {k} x {n} fp16: {med * 1e6:.2f} us per matmul "
          f"(from {samples[0] * 1e6:.2f} to {samples[-1] * 1e6:.2f}, {ROUNDS} rounds of {CALLS}), "
          f"weights stream from HBM at {moved / med / 1e9:.0f} GB/s")
print("This is the HBM bandwidth a decode step gets when it reads each layer's weights from memory once.")
