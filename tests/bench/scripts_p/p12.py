"""layer_norm's memory throughput."""
import json
import time

import numpy as np
import torch
import torch_npu  # noqa: F401

result = []
for rows in (1024, 2048):
    norm, x = torch.nn.LayerNorm(2048).npu(), torch.ones(rows, 2048).npu()
    for _ in range(10):
        norm(x)
    seconds = []
    for _ in range(30):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(20):
            norm(x)
        torch.npu.synchronize()
        seconds.append((time.perf_counter() - t) / 20)
    rate = 2 * x.numel() * 4 / np.percentile(seconds, [90, 50, 10]) / 1e9
    result.append({"shape": [rows, 2048], "dtype": "float32", "HBM GB/s p10 p50 p90": rate.round(1).tolist()})
print(json.dumps(result, indent=1))
