"""Device time of group_norm (forward), by events."""
import statistics

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

SAMPLES = 50
WARMUP = 8


def bench(n, c, h, w, groups):
    gamma = torch.ones(c, device="npu")
    beta = torch.zeros(c, device="npu")
    ring = [torch.empty(n, c, h, w, device="npu").normal_() for _ in range(4)]

    def batch(i):
        # no activation repeats in training: each call sees new values
        return ring[i % len(ring)].normal_()

    for i in range(WARMUP):
        F.group_norm(batch(i), groups, gamma, beta)
    torch.npu.synchronize()

    marks = []
    for i in range(SAMPLES):
        start = torch.npu.Event(enable_timing=True)
        end = torch.npu.Event(enable_timing=True)
        start.record()
        out = F.group_norm(batch(i), groups, gamma, beta)
        end.record()
        marks.append((start, end))
    torch.npu.synchronize()
    assert torch.isfinite(out).all().item()

    us = [start.elapsed_time(end) * 1e3 for start, end in marks]
    deciles = statistics.quantiles(us, n=10)
    return deciles[0], statistics.median(us), deciles[-1]


def main():
    torch.manual_seed(7)
    print(f"group_norm forward, float32, device time between two events, {SAMPLES} samples after {WARMUP} warm-up calls")
    for shape in [(8, 64, 56, 56, 16), (16, 128, 28, 28, 32), (8, 128, 56, 56, 32)]:
        p10, p50, p90 = bench(*shape)
        n, c, h, w, g = shape
        print(f"  [{n},{c},{h},{w}] in {g:2d} groups: group_norm takes {p50:7.2f} us (p10 {p10:.2f}, p90 {p90:.2f})")


main()
