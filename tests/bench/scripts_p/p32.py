"""cumsum, for the record."""
import json
import time

import torch
import torch_npu  # noqa: F401

record = {}
for cols in (1000, 10_000):
    x = torch.ones(64, cols).npu()
    for _ in range(10):
        torch.cumsum(x, 1)
    samples = []
    for _ in range(30):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(10):
            torch.cumsum(x, 1)
        torch.npu.synchronize()
        samples.append((time.perf_counter() - t) * 1e5)
    record[f"cumsum 64x{cols} float32 warm"] = round(sum(samples) / len(samples), 2)
print(json.dumps({"us": record}))
