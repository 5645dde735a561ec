"""cumsum with fresh input values each time: they are copied into the buffer before the clock starts."""
import statistics
import time

import torch
import torch_npu  # noqa: F401

generator = torch.Generator().manual_seed(3)
for shape in ((64, 1000), (8, 30000)):
    buffers = [torch.empty(shape, device="npu") for _ in range(6)]
    laps = []
    for i in range(35):
        for buffer in buffers:
            buffer.copy_(torch.rand(shape, generator=generator))
        torch.npu.synchronize()
        t = time.perf_counter()
        for buffer in buffers:
            torch.cumsum(buffer, 1)
        torch.npu.synchronize()
        laps.append((time.perf_counter() - t) / len(buffers) * 1e6)
    laps = laps[5:]  # the first five are the warm-up
    d = statistics.quantiles(laps, n=10)
    print(f"cumsum{list(shape)} dim 1: median {statistics.median(laps):.1f} us, P10 {d[0]:.1f}, P90 {d[8]:.1f}, n={len(laps)}")
