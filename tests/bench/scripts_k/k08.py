"""Each side is settled by itself with the timer that is used later, then both take turns."""

import statistics
import time

import torch
import torch_npu  # noqa: F401


def sample(function, calls=25):
    torch.npu.synchronize()
    begin = time.monotonic()
    for _ in range(calls):
        function()
    torch.npu.synchronize()
    return (time.monotonic() - begin) / calls * 1e6


def settle(function):
    window = [sample(function) for _ in range(5)]
    while statistics.pstdev(window) > 0.05 * statistics.median(window):
        window = window[1:] + [sample(function)]


for rows, columns in ((256, 256), (1024, 512)):
    x = torch.rand(rows, columns).npu()
    sides = {"matmul": lambda: torch.matmul(x, x.T), "einsum": lambda: torch.einsum("ij,kj->ik", x * 1, x)}
    for side in sides.values():
        settle(side)
    us = {name: [] for name in sides}
    for _ in range(20):
        for name, side in sides.items():
            us[name].append(sample(side))
    ratio = [b / a for a, b in zip(us["matmul"], us["einsum"])]
    print(f"float32 ({rows}, {columns}), operands warm in L2, 20 rounds in turn")
    for name, values in us.items():
        print(f"  {name}: median {statistics.median(values):.2f} us, stdev {statistics.stdev(values):.2f}, max {max(values):.2f}")
    print(f"  einsum / matmul: {statistics.median(ratio):.3f} (from {min(ratio):.3f} to {max(ratio):.3f})")
