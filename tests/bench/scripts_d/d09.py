# right
import torch
import torch_npu
from torch.utils.benchmark import Compare, Timer

rows = []
for n in (100, 1000):
    x = torch.rand(n, 64).npu()
    rows.append(Timer("x.sum(-1)", globals={"x": x}, label="sum", sub_label=f"{n}x64", description="npu").blocked_autorange())
Compare(rows).print()
