"""Transposed copy x.t().contiguous(), one row of the table for each shape."""
import time

import pandas as pd
import torch
import torch_npu

DEV = "npu"
CASES = [
    (512, 512, torch.float16),
    (1024, 1024, torch.float16),
    (2048, 512, torch.float16),
    (512, 2048, torch.float32),
    (1024, 1024, torch.float32),
]
N = 50


def measure(pool):
    out = []
    torch.npu.synchronize()
    for i in range(N):
        x = pool[i % len(pool)]
        start = time.perf_counter()
        x.t().contiguous()
        torch.npu.synchronize()
        out.append((time.perf_counter() - start) * 1e6)
    return out


records = []
outputs = []
for rows, cols, dtype in CASES:
    pool = [torch.randn(rows, cols).to(DEV, dtype) for _ in range(4)]
    nbytes = 2 * rows * cols * pool[0].element_size()
    torch.npu.synchronize()
    for us in measure(pool):
        records.append({"shape": f"{rows}x{cols}", "dtype": str(dtype)[6:], "us": us, "GB/s": nbytes / us / 1e3})
    outputs.append((pool[0].cpu(), pool[0].t().contiguous().cpu()))

for src, dst in outputs:
    assert torch.equal(src.t(), dst)

df = pd.DataFrame(records)
table = df.groupby(["shape", "dtype"], sort=False).agg(
    mean_us=("us", "mean"),
    p50_us=("us", "median"),
    p90_us=("us", lambda s: s.quantile(0.9)),
    std_us=("us", "std"),
    max_us=("us", "max"),
    mean_gbs=("GB/s", "mean"),
)
print(table.round(2).to_string())
print(f"\nSteady-state time of a transposed copy in microseconds, {N} calls for each of the shapes above,")
print("launch included; four input tensors in turn, small enough to stay in L2.")
