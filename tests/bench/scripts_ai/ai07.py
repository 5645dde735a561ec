"""topk in a table."""
import time

import pandas as pd
import torch
import torch_npu

BLOCKS, CALLS = 25, 12


def block(x, k):
    torch.npu.synchronize()
    t = time.perf_counter()
    for _ in range(CALLS):
        torch.topk(x, k)
        torch.npu.synchronize()
    return (time.perf_counter() - t) / CALLS * 1e6


records = []
for rows, cols in (8, 256), (32, 512), (64, 512):
    host = torch.randn(rows, cols, generator=torch.Generator().manual_seed(rows))
    x = host.npu()
    for k in 1, 16:
        got, at = torch.topk(x, k)
        assert torch.equal(got.cpu(), host.topk(k).values)
        assert torch.equal(host.gather(1, at.cpu()), got.cpu())
        for _ in range(3):
            block(x, k)
        for i in range(BLOCKS):
            records.append({"rows": rows, "cols": cols, "k": k, "block": i, "us": block(x, k)})

frame = pd.DataFrame(records)
table = frame.groupby(["rows", "cols", "k"])["us"].quantile([0.1, 0.5, 0.9]).unstack()
table.columns = ["P10", "P50", "P90"]
table["max"] = frame.groupby(["rows", "cols", "k"])["us"].max()
elements = [r * c for r, c, _ in table.index]
table["elements/us"] = [e / t for e, t in zip(elements, table["P50"])]

print(f"torch.topk, float32, largest first, hot L2: time of the operator on the device, us a call")
print(f"({BLOCKS} blocks of {CALLS} calls for each line; values and indices checked)")
print(table.round(2).to_string())
small, large = table["P50"].iloc[0], table["P50"].iloc[-1]
print(f"From the first line to the last the work grows {elements[-1] / elements[0]:.0f} times and the operator's time {large / small:.2f} times.")
