"""softmax over the last dimension: dtype and size, as a pandas table."""
import time

import pandas as pd
import torch
import torch_npu

ROUNDS, WARMUP = 20, 5
SIZES = [(64, 512), (256, 1024), (512, 2048)]
DTYPES = [torch.float32, torch.float16]


def build(size, dtype):
    return [torch.randn(size).to(dtype).to("npu") for _ in range(3)]


def call(x):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    torch.softmax(x, dim=-1)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6


cells = {(size, dtype): build(size, dtype) for size in SIZES for dtype in DTYPES}
for (size, dtype), xs in cells.items():
    err = (torch.softmax(xs[0], -1).cpu().float() - torch.softmax(xs[0].cpu().float(), -1)).abs().max()
    assert err < 2e-3, (size, dtype, err)

rows = []
for r in range(ROUNDS + WARMUP):
    keys = list(cells) if r % 2 == 0 else list(cells)[::-1]
    for size, dtype in keys:
        us = call(cells[size, dtype][r % 3])
        if r >= WARMUP:
            rows.append({"rows": size[0], "cols": size[1], "dtype": str(dtype)[6:], "us": us})

df = pd.DataFrame(rows)
table = df.groupby(["rows", "cols", "dtype"])["us"].describe(percentiles=[0.1, 0.5, 0.9])
print("softmax(dim=-1): microseconds for one call, host issue and wait included.")
print(f"Inputs: 3 tensors per cell in turn, all in L2. {ROUNDS} samples per cell, all kept; {WARMUP} warm-up rounds before.")
print("The two dtypes are different work; no claim that they give equal results.")
print(table[["count", "10%", "50%", "90%", "max"]].round(2).to_string())
