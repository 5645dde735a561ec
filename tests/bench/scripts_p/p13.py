"""mul of two matrices, element by element; a table by size."""
import time

import pandas as pd
import torch
import torch_npu  # noqa: F401

table = {}
for n in (300, 900):
    a, b = torch.ones(n, n).npu(), torch.ones(n, n).npu()
    torch.npu.synchronize()
    series = []
    for _ in range(30):
        t = time.perf_counter()
        for _ in range(10):
            a * b
        torch.npu.synchronize()
        series.append((time.perf_counter() - t) * 1e5)
    table[f"{n}x{n}"] = series
print(pd.DataFrame(table).agg(["mean", "std", "min", "max"]).round(2).to_string())
print("us for one multiplication, float32, arrays in L2")
