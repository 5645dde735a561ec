"""LayerNorm on a shared node: neighbours disturb us, so far-away samples are named, counted and shown beside the rest."""
import numpy as np
import torch
import torch_npu

COUNT = 200
FAR = 3.0          # times the median


def sample_us(layer, x):
    pairs = []
    for _ in range(COUNT):
        a = torch.npu.Event(enable_timing=True)
        b = torch.npu.Event(enable_timing=True)
        a.record()
        layer(x)
        b.record()
        pairs.append((a, b))
    torch.npu.synchronize()
    return np.array([1e3 * a.elapsed_time(b) for a, b in pairs])


def summary(label, us):
    q = np.percentile(us, (10, 50, 90, 99))
    print(f"    {label:<18} n={len(us):<4} mean {us.mean():7.2f}  p10 {q[0]:7.2f}  p50 {q[1]:7.2f}  "
          f"p90 {q[2]:7.2f}  p99 {q[3]:7.2f}")


print("nn.LayerNorm forward, float32, device events, input re-used (L2 warm), us")
with torch.no_grad():
    for rows, width in ((256, 2048), (512, 2048), (1024, 2048)):
        layer = torch.nn.LayerNorm(width).npu().eval()
        x = torch.randn(rows, width, device="npu")
        for _ in range(40):
            layer(x)
        torch.npu.synchronize()

        us = sample_us(layer, x)
        limit = FAR * np.median(us)
        far = us > limit
        print(f"  ({rows}, {width})")
        summary("all samples", us)
        summary(f"below {FAR:g} x median", us[~far])
        named = ", ".join(f"#{i}: {us[i]:.0f}" for i in np.flatnonzero(far)[:8]) or "none"
        print(f"    {far.sum()} of {COUNT} samples left out of the second line (above {limit:.1f} us): {named}")
