# RMSNorm latency as a histogram. Hot cache on purpose: in a decoder the activations were just written by the layer before.
import time
from collections import Counter

import torch
import torch_npu

N, WARM, BIN_US = 100, 15, 0.5
SHAPES = ((8, 4096), (32, 2048), (64, 2048))


def quantile(ordered, q):
    return ordered[min(len(ordered) - 1, round(q * (len(ordered) - 1)))]


def reference(x, w, eps=1e-6):
    f = x.float()
    return f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + eps) * w.float()


def collect(tokens, hidden):
    w = (1 + 0.1 * torch.randn(hidden)).half().npu()
    xs = [torch.randn(tokens, hidden).half().npu() for _ in range(4)]
    for x in xs:
        y, _ = torch_npu.npu_rms_norm(x, w, 1e-6)
        torch.testing.assert_close(y.cpu().float(), reference(x.cpu(), w.cpu()), rtol=1e-2, atol=1e-2)
    for i in range(WARM):
        torch_npu.npu_rms_norm(xs[i % 4], w, 1e-6)
    us = []
    for i in range(N):
        x = xs[i % 4]
        torch.npu.synchronize()
        start = time.perf_counter()
        torch_npu.npu_rms_norm(x, w, 1e-6)
        torch.npu.synchronize()
        us.append(1e6 * (time.perf_counter() - start))
    return us


for tokens, hidden in SHAPES:
    us = collect(tokens, hidden)
    ordered = sorted(us)
    print(f"\nnpu_rms_norm fp16 {tokens}x{hidden}: from the host's call until the device is idle, inputs hot in L2")
    print(f"  {len(us)} calls, all kept: min {ordered[0]:.2f}  p10 {quantile(ordered, .1):.2f}  "
          f"p50 {quantile(ordered, .5):.2f}  p90 {quantile(ordered, .9):.2f}  max {ordered[-1]:.2f} us")
    bins = Counter(int(u // BIN_US) for u in us)
    shown = sorted(bins)
    for b in shown:
        print(f"  {b * BIN_US:8.1f} us |{'#' * max(1, round(50 * bins[b] / N))} {bins[b]}")
