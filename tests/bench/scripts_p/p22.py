"""How fast a transposed copy is when its source was just used: the L2 is warm on purpose."""
import time

import torch
import torch_npu  # noqa: F401


class Stopwatch:
    def __init__(self):
        self.laps = []

    def __call__(self, function, times):
        torch.npu.synchronize()
        self._at = time.perf_counter()
        for _ in range(times):
            function()
        torch.npu.synchronize()
        self.laps.append((time.perf_counter() - self._at) / times)


for m, n in ((512, 256), (1024, 3000)):
    x = torch.ones(m, n, device="npu")
    copy = lambda: x.t().contiguous()
    for _ in range(10):
        copy()
    watch = Stopwatch()
    for _ in range(30):
        watch(copy, 16)
    laps = sorted(watch.laps)
    traffic = 2 * x.numel() * x.element_size() / laps[15]
    print(f"{m}x{n} -> {n}x{m}, float32: median {laps[15] * 1e6:.2f} us, slowest {laps[-1] * 1e6:.2f} us; {traffic / 1e9:.0f} GB/s out of the L2 (hot, not HBM)")
