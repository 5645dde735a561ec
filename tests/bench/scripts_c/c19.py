# right
# labkit's own kit
import torch
import labkit
from labkit import bench

labkit.device.install()
for shape in [(1, 1), (129, 513)]:
    x = torch.randn(*shape).npu()
    m = bench.measure(lambda: torch.exp(x), name=f"exp {shape}", least=50, most=60)
    row = m.row()
    print(
        f"{row['name']}: median {row['median']:.2f} [{row['median low']:.2f}, {row['median high']:.2f}] us, p99 {row['p99']:.2f}"
    )
