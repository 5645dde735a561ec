"""Latency of torch.cumsum along the last axis, float32; result as one JSON document."""
import json
import time

import torch
import torch_npu

DEV = torch.device("npu")
SHAPES = [(8, 1024), (64, 2048), (256, 4096), (1024, 1024)]
WARMUP, SAMPLES = 10, 60


def percentile(ordered, q):
    pos = (len(ordered) - 1) * q
    lo = int(pos)
    hi = min(lo + 1, len(ordered) - 1)
    return ordered[lo] + (ordered[hi] - ordered[lo]) * (pos - lo)


def one_sample(x):
    torch.npu.synchronize()
    t0 = time.perf_counter_ns()
    torch.cumsum(x, dim=-1)
    torch.npu.synchronize()
    return (time.perf_counter_ns() - t0) / 1e3


torch.manual_seed(0)
rows = []
for shape in SHAPES:
    x = torch.rand(shape, device=DEV)
    err = (torch.cumsum(x, -1).cpu() - torch.cumsum(x.cpu().double(), -1)).abs().max().item()
    assert err < 1e-2 * shape[-1] ** 0.5, err
    for _ in range(WARMUP):
        torch.cumsum(x, dim=-1)
    us = sorted(one_sample(x) for _ in range(SAMPLES))
    rows.append({
        "shape": list(shape),
        "us_p10": round(percentile(us, 0.10), 2),
        "us_p50": round(percentile(us, 0.50), 2),
        "us_p90": round(percentile(us, 0.90), 2),
        "us_min": round(us[0], 2),
        "us_max": round(us[-1], 2),
        "max_abs_err_vs_fp64": err,
    })

print(json.dumps({
    "what": "torch.cumsum(x, -1), float32: one call, from the launch on the host to the end on the device",
    "unit": "microseconds",
    "cache": "hot: each shape reads the same tensor again",
    "warmup_calls": WARMUP,
    "samples": SAMPLES,
    "claim": "valid for the shapes of this list only",
    "results": rows,
}, indent=2))
