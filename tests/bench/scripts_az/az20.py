"""RMSNorm written out in torch against torch_npu.npu_rms_norm, host clock.

The number of calls per sample is found per function and size so that a sample lasts about TARGET seconds (no more
than MOST calls); each sample is divided by its own number of calls.
"""
import json
import statistics
import time

import torch
import torch_npu

EPS = 1e-6
TARGET = 0.02
MOST = 128
SAMPLES = 12


def by_hand(x, weight):
    f = x.float()
    inv = torch.rsqrt(f.square().mean(dim=-1, keepdim=True) + EPS)
    return (f * inv).to(x.dtype) * weight


def fused(x, weight):
    return torch_npu.npu_rms_norm(x, weight, EPS)[0]


def block(fn, args, calls):
    torch.npu.synchronize()
    t = time.perf_counter()
    for _ in range(calls):
        fn(*args)
    torch.npu.synchronize()
    return time.perf_counter() - t


def calibrate(fn, args):
    calls = 1
    while calls < MOST:
        spent = block(fn, args, calls)
        if spent >= TARGET / 2:
            return min(MOST, max(1, round(calls * TARGET / spent)))
        calls *= 2
    return calls


def main():
    torch.set_num_threads(1)
    results = []
    for rows, width in ((16, 256), (128, 512), (256, 1024)):
        x = torch.randn(rows, width, dtype=torch.float16).npu()
        w = (1 + 0.1 * torch.randn(width)).half().npu()
        torch.testing.assert_close(by_hand(x, w).cpu(), fused(x, w).cpu(), rtol=1e-2, atol=1e-2)
        calls = {fn: calibrate(fn, (x, w)) for fn in (by_hand, fused)}
        us = {by_hand: [], fused: []}
        for i in range(SAMPLES):
            for fn in ((by_hand, fused), (fused, by_hand))[i % 2]:
                us[fn].append(block(fn, (x, w), calls[fn]) / calls[fn] * 1e6)
        entry = {"rows": rows, "width": width}
        for fn, values in us.items():
            q1, q2, q3 = statistics.quantiles(values, n=4)
            entry[fn.__name__] = {"calls_per_sample": calls[fn], "us_per_call": float(f"{q2:.3g}"),
                                  "iqr_us": [float(f"{q1:.3g}"), float(f"{q3:.3g}")]}
        results.append(entry)
    print(json.dumps({"op": "rms_norm", "dtype": "float16", "cache": "warm", "samples": SAMPLES,
                      "clock": "host, one wait per sample, per-call mean in each sample",
                      "results": results}, indent=1))


if __name__ == "__main__":
    main()
