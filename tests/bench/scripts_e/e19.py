"""Measures on a side stream, as our server does: labkit.bench takes the current stream."""
from pathlib import Path
import tempfile

import torch
import torch_npu

from labkit import bench

side = torch.npu.Stream()
results = []
for tokens in (1, 32, 512):
    hidden = torch.ones(tokens, 1024, dtype=torch.float16).npu()
    residual = torch.ones_like(hidden)
    torch.npu.synchronize()  # the inputs were made on the default stream
    with torch.npu.stream(side):
        for cache in ("cold", "warm"):
            results.append(bench.measure(lambda: torch.nn.functional.layer_norm(hidden + residual, (1024,)),
                                         name=f"add + layer norm, {tokens} tokens, {cache} L2", cache=cache,
                                         least=200, most=400))

for result in results:
    print(result)
with tempfile.TemporaryDirectory() as folder:
    path = bench.save(Path(folder) / "layer_norm.csv", results)
    print(path.read_text().splitlines()[0])
