"""Pooling with a compiled function, host clock; [16, 64, 28, 28] and [16, 64, 14, 14]; quartiles of 6 samples."""
import timeit
import numpy as np
import torch
import torch_npu

@torch.compile(backend="eager", dynamic=False)
def pooled(x, how):
    y = torch.nn.functional.avg_pool2d(x, 2) if how.startswith("a") else torch.nn.functional.max_pool2d(x, 2)
    return y * 2

for side in (28, 14):
    x = torch.ones(16, 64, side, side).npu()
    pooled(x, "avg"), pooled(x, "max")
    torch.npu.synchronize()
    laps = []
    for k in range(6):
        t = timeit.default_timer()
        pooled(x, f"avg{side}{k}")
        torch.npu.synchronize()
        laps.append(1e6 * (timeit.default_timer() - t))
    print(side, "quartiles [us]", np.percentile(laps, [25, 50, 75]).round(2))
