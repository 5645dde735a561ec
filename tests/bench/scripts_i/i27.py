"""Samples far from the median are marked and counted; the percentiles are of all samples, the mean beside it without them."""
import torch
import torch_npu
import numpy as np

for rows, width in ((10, 5000), (2000, 640)):
    x = torch.ones(rows, width, device="npu")
    for _ in range(8):
        torch.logsumexp(x, 1)
    ev = [(torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)) for _ in range(60)]
    for a, b in ev:
        a.record()
        torch.logsumexp(x, 1)
        b.record()
    torch.npu.synchronize()
    us = np.array([a.elapsed_time(b) * 1e3 for a, b in ev])
    far = us > 3 * np.median(us)
    print(f"logsumexp {rows} x {width}: P50 {np.percentile(us, 50):.2f} P90 {np.percentile(us, 90):.2f} P99 {np.percentile(us, 99):.2f}"
          f" us; {far.sum()} of {len(us)} outliers, mean of the others {us[~far].mean():.2f}; warm L2")
