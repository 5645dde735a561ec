"""Overflow check of a gradient, (g > limit).any(): which share of the memory bandwidth does it reach?"""
import torch
import torch_npu
import labkit
from labkit import bench

HBM = labkit.chips.flat("910B1")["gm.hbm"]  # bytes per second

shapes = [(1024, 2048), (2048, 2048), (3072, 2048)]

LIMIT = 6e4

print("overflow check, float32")
print(f"{'shape':>12} {'median us':>10} {'P99':>8} {'n':>4} {'HBM GB/s':>9} {'of peak':>8}")
for rows, cols in shapes:
    g = torch.full((rows, cols), 1e-3).npu()
    m = bench.measure(lambda: (g > LIMIT).any(), name=f"check {rows}x{cols}", cache="warm", least=20, most=20)
    moved = 4 * rows * cols
    rate = moved / (m.median.value * 1e-6)
    print(
        f"{rows:6}x{cols:<5} {m.median.value:10.2f} {m.percentile(99).value:8.2f} {len(m.samples):4} "
        f"{rate / 1e9:9.0f} {100 * rate / HBM:7.0f}%"
    )
