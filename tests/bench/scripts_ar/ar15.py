"""Distribution of the latency of rms_norm, as a histogram."""
import time

import torch
import torch_npu

EPS = 1e-6
SAMPLES = 100


def latency(x, gamma):
    torch.npu.synchronize()
    begin = time.perf_counter_ns()
    torch_npu.npu_rms_norm(x, gamma, epsilon=EPS)
    torch.npu.synchronize()
    end = time.perf_counter_ns()
    return (end - begin) / 1e6


def histogram(values, bins=8, width=40):
    lo, hi = min(values), max(values)
    step = (hi - lo) / bins or 1e-9
    counts = [0] * bins
    for v in values:
        counts[min(bins - 1, int((v - lo) / step))] += 1
    for i, c in enumerate(counts):
        print(f"  {lo + i * step:10.5f} us | {'#' * round(width * c / max(counts))} {c}")


def main():
    for rows, dim in [(64, 1024), (256, 1024), (512, 2048)]:
        pool = [torch.randn(rows, dim).to("npu") for _ in range(4)]
        gamma = torch.rand(dim).to("npu")
        got = torch_npu.npu_rms_norm(pool[0], gamma, epsilon=EPS)[0].cpu()
        x = pool[0].cpu()
        want = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * gamma.cpu()
        torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-3)
        for i in range(12):
            latency(pool[i % 4], gamma)
        us = [latency(pool[i % 4], gamma) for i in range(SAMPLES)]
        s = sorted(us)
        print(f"rms_norm [{rows}, {dim}] fp32, hot cache, one call with issue and wait, {SAMPLES} samples: "
              f"p50 {s[50]:.4f} us, p90 {s[90]:.4f} us, max {s[-1]:.4f} us")
        histogram(us)


main()
