"""linear by the lab's own kit."""
import torch
import torch_npu  # noqa: F401

from labkit import bench

for batch in (4, 64):
    layer, x = torch.nn.Linear(1024, 1024).npu(), torch.ones(batch, 1024).npu()
    with torch.no_grad():
        result = bench.measure(lambda: layer(x))
    print(f"Linear(1024, 1024), batch {batch}:")
    print(result)
