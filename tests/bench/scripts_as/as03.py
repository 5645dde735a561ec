#!/usr/bin/env python
# attention-score sized bmm, several head counts; one JSON object per line
import json
import time

import torch
import torch_npu  # noqa: F401

torch.set_num_threads(1)
CALLS, BLOCKS = 10, 12
CASES = [(4, 64, 64, 64), (8, 64, 64, 64), (16, 64, 64, 64), (8, 128, 64, 128)]


def one_block(a, b, out):
    tic = time.perf_counter_ns()
    for _ in range(CALLS):
        torch.bmm(a, b, out=out)
    torch.npu.synchronize()
    return (time.perf_counter_ns() - tic) / 1e3 / CALLS      # us a call


for heads, m, k, n in CASES:
    a = torch.randn(heads, m, k, device="npu", dtype=torch.float32)
    b = torch.randn(heads, k, n, device="npu", dtype=torch.float32)
    out = torch.empty(heads, m, n, device="npu", dtype=torch.float32)

    for _ in range(2):                 # each case warms its own shape
        one_block(a, b, out)

    us = sorted(one_block(a, b, out) for _ in range(BLOCKS))
    median = (us[BLOCKS // 2 - 1] + us[BLOCKS // 2]) / 2
    flop = 2 * heads * m * k * n       # multiply and add
    print(json.dumps({
        "shape": f"{heads}x[{m}x{k}]@[{k}x{n}]",
        "dtype": "fp32",
        "what": "host wall clock, calls queued back to back, one wait per block, operands reused",
        "calls_per_block": CALLS,
        "blocks": BLOCKS,
        "us_per_call": {"best": round(us[0], 2), "median": round(median, 2), "worst": round(us[-1], 2)},
        "gflops_at_median": round(flop / median / 1e3, 2),
        "gflops_at_best": round(flop / us[0] / 1e3, 2),
    }))
