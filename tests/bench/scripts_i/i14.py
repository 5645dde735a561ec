"""Dropout in training: P50, P95, worst; warm L2; events."""
import pandas as pd
import torch
import torch_npu

rows = []
for n in (512, 4096):
    x = torch.ones(64, n, device="npu")
    f = lambda: torch.nn.functional.dropout(x, 0.5)
    for _ in range(5):
        f()
    ev = [(torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)) for _ in range(50)]
    for s, e in ev:
        s.record()
        f()
        e.record()
    torch.npu.synchronize()
    rows += [(f"64x{n}", 1e3 * s.elapsed_time(e)) for s, e in ev]
df = pd.DataFrame(rows, columns=["shape", "us"])
df = df[df["us"] <= df.groupby("shape")["us"].transform(lambda v: v.quantile(0.9))]
print(df.groupby("shape")["us"].quantile([0.5, 0.95, 1.0]).unstack().round(2))
