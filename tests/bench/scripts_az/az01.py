"""Tail latency of the 3x3 stem convolution, two ways of writing the border.

  same     F.conv2d(..., padding=1)
  explicit F.pad(x, (1, 1, 1, 1)) followed by a valid convolution
"""
import os
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

DEV = torch.device("npu")
BATCH, CIN, COUT, SIDE = 4, 32, 64, 28
WARM = 5
N = int(os.environ.get("SAMPLES", "8"))

torch.manual_seed(7)
torch.set_num_threads(1)
x = torch.randn(BATCH, CIN, SIDE, SIDE, dtype=torch.float16).to(DEV)
w = (torch.randn(COUT, CIN, 3, 3, dtype=torch.float16) * 0.05).to(DEV)


def same():
    return F.conv2d(x, w, padding=1)


def explicit():
    return F.conv2d(F.pad(x, (1, 1, 1, 1)), w)


def request(fn):
    """One request: submit, then block until the answer is there (ms)."""
    begin = time.perf_counter()
    fn()
    torch.npu.synchronize()
    return (time.perf_counter() - begin) * 1e3


torch.testing.assert_close(same().cpu(), explicit().cpu(), rtol=1e-2, atol=1e-2)

VARIANTS = {"same": same, "explicit": explicit}
for fn in VARIANTS.values():
    for _ in range(WARM):
        fn()
torch.npu.synchronize()

lat = {name: [] for name in VARIANTS}
for i in range(N):
    names = list(VARIANTS)
    if i % 2:
        names.reverse()
    for name in names:
        lat[name].append(request(VARIANTS[name]))

print(f"op=conv2d shape={BATCH}x{CIN}x{SIDE}x{SIDE} kernel={COUT}x{CIN}x3x3 dtype=float16 n={N}")
p999 = {}
for name, values in lat.items():
    p50, p99, p999[name] = np.percentile(values, [50, 99, 99.9])
    print(f"variant={name} request_p50_ms={p50:.4f} request_p99_ms={p99:.4f} request_p99.9_ms={p999[name]:.4f}")
best = min(p999, key=p999.get)
worst = max(p999, key=p999.get)
print(f"lower_tail={best} p99.9_gain_pct={(1 - p999[best] / p999[worst]) * 100:.2f}")
