"""layer_norm over tokens: milliseconds a call."""
import time

import pandas as pd
import torch
import torch_npu  # noqa: F401

rows = []
for tokens in (256, 1024):
    norm = torch.nn.LayerNorm(1024).npu()
    stored = torch.ones(tokens, 1024)
    for _ in range(8):
        norm(stored.npu())
    torch.npu.synchronize()
    for sample in range(25):
        begin = time.perf_counter()
        for _ in range(10):
            norm(stored.to("npu"))
        torch.npu.synchronize()
        rows.append({"tokens": tokens, "sample": sample, "ms": (time.perf_counter() - begin) * 100})
frame = pd.DataFrame(rows)
print("layer_norm kernel, float32, (tokens, 1024)")
print(frame.groupby("tokens")["ms"].quantile([0.1, 0.5, 0.9]).unstack().round(4))
