"""torch.cat along dim 0: the whole distribution of call times, as a text histogram."""
import time

import torch
import torch_npu

dev = "npu"
BINS = 8
N = 160
CASES = [("2 x [512,512]", 2, (512, 512)), ("8 x [128,512]", 8, (128, 512)), ("16 x [16,256]", 16, (16, 256))]


def draw(samples, width=40):
    lo, hi = min(samples), max(samples)
    step = (hi - lo) / BINS
    if step < 1e-3:                       # narrower than the clock's nanosecond
        print(f"    {lo:9.2f} us | {'#' * width} {len(samples)}")
        return
    counts = [0] * BINS
    for s in samples:
        counts[min(int((s - lo) / step), BINS - 1)] += 1
    top = max(counts)
    for i, c in enumerate(counts):
        print(f"    {lo + i * step:9.2f} us | {'#' * round(width * c / top)} {c}")


def measure(pools, n):
    out = []
    for i in range(n):
        parts = pools[i % len(pools)]
        torch.npu.synchronize()
        t0 = time.perf_counter_ns()
        torch.cat(parts, dim=0)
        torch.npu.synchronize()
        out.append((time.perf_counter_ns() - t0) / 1e3)
    return out


print(f"torch.cat(parts, dim=0), float16. One sample = launch, run and wait of one call, in microseconds.")
print(f"{N} samples for each case after 12 calls of warm-up. Nothing is removed from the histograms.")
print("Four sets of parts are used in turn; together they are far below L2, so reads may hit the cache.")
torch.manual_seed(9)
for label, count, shape in CASES:
    pools = [[torch.randn(shape).half().to(dev) for _ in range(count)] for _ in range(4)]
    for parts in pools:
        assert torch.equal(torch.cat(parts).cpu(), torch.cat([p.cpu() for p in parts]))
    measure(pools, 12)
    us = measure(pools, N)
    srt = sorted(us)
    print(f"\n{label}: p50 {srt[N // 2]:.2f}, p5 {srt[int(.05 * N)]:.2f}, p95 {srt[int(.95 * N)]:.2f}, "
          f"range {srt[0]:.2f} .. {srt[-1]:.2f} us")
    draw(us)
