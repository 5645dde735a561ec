"""x @ w over dtypes. JSON on stdout.

A dtype is called faster or slower than float32 only if the quartile ranges are apart.
"""
import json
import time

import numpy as np
import torch
import torch_npu

M = K = N = 128
CALLS, ROUNDS = 10, 25
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def once(x, w):
    t = time.perf_counter()
    for _ in range(CALLS):
        torch.matmul(x, w)
    torch.npu.synchronize()
    return (time.perf_counter() - t) * 1e6 / CALLS


def name(dtype):
    return str(dtype).split(".")[-1]


def main():
    torch.set_num_threads(1)  # of the host
    gen = torch.Generator().manual_seed(4)
    a, b = torch.randn(M, K, generator=gen), torch.randn(K, N, generator=gen)
    data, first = {}, {}
    for dtype in DTYPES:
        data[dtype] = a.to(dtype).npu(), b.to(dtype).npu()
        torch.npu.synchronize()
        t = time.perf_counter()
        torch.matmul(*data[dtype])
        torch.npu.synchronize()
        first[dtype] = (time.perf_counter() - t) * 1e3
    for dtype in DTYPES:  # a round that is not kept
        once(*data[dtype])

    times = {dtype: [] for dtype in DTYPES}
    for r in range(ROUNDS):
        shift = r % len(DTYPES)
        for dtype in DTYPES[shift:] + DTYPES[:shift]:
            times[dtype].append(once(*data[dtype]))

    report = {"op": "matmul", "shape": [M, K, N], "calls_per_sample": CALLS, "samples": ROUNDS,
              "clock": "host, one wait behind the calls of a sample",
              "scope": "this shape only", "dtypes": {}}
    ref = np.percentile(times[torch.float32], [25, 50, 75])
    for dtype in DTYPES:
        q = np.percentile(times[dtype], [25, 50, 75])
        if dtype is torch.float32:
            verdict = "reference"
        elif q[2] < ref[0]:
            verdict = "faster than float32"
        elif q[0] > ref[2]:
            verdict = "slower than float32"
        else:
            verdict = "undecided"
        report["dtypes"][name(dtype)] = {
            "us_per_call": dict(zip(("p25", "p50", "p75"), (round(float(v), 1) for v in q))),
            "very_first_call_ms_not_in_samples": round(first[dtype], 2),
            "verdict": verdict,
        }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
