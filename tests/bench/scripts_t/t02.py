# How long does Python + dispatcher need to hand one op to the device queue?
# This is the cost on the host only. The device may still be busy when the
# clock is read; the figure says nothing about how long the kernels run.
import time

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F

import labkit  # noqa: F401

BURST = 16
ROUNDS = 15

x = torch.randn(128, 128, device="npu", dtype=torch.float16)
w = torch.randn(128, 128, device="npu", dtype=torch.float16)
b = torch.randn(128, device="npu", dtype=torch.float16)

CASES = {
    "add": lambda: x + w,
    "mm": lambda: x @ w,
    "linear": lambda: F.linear(x, w, b),
    "layer_norm": lambda: F.layer_norm(x, (128,)),
    "sum(dim)": lambda: x.sum(-1),
}


def issue_times(fn):
    for _ in range(8):
        fn()
    got = np.empty(ROUNDS)
    for r in range(ROUNDS):
        torch.npu.synchronize()          # queue empty: we never wait for room in it
        a = time.perf_counter_ns()
        for _ in range(BURST):
            fn()
        got[r] = (time.perf_counter_ns() - a) / BURST / 1e3
    torch.npu.synchronize()
    return got


rows = []
for name, fn in CASES.items():
    t = issue_times(fn)
    q = np.percentile(t, [10, 50, 90])
    rows.append(dict(op=name, issue_p10_us=q[0], issue_p50_us=q[1], issue_p90_us=q[2]))

print(f"host issue time per launch (device NOT waited for), bursts of {BURST}, {ROUNDS} bursts")
print(pd.DataFrame(rows).set_index("op").round(2).to_string())
