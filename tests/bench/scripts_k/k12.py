"""Two ways to scale and shift, over three shapes; in each shape one way is finished before the other begins."""

import numpy as np
import torch
import torch_npu  # noqa: F401


class Stopwatch:
    def __init__(self):
        self.laps = []

    def __enter__(self):
        self.first, self.last = (torch.npu.Event(enable_timing=True) for _ in range(2))
        self.first.record()

    def __exit__(self, *unused):
        self.last.record()
        self.laps.append((self.first, self.last))

    def microseconds(self):
        torch.npu.synchronize()
        return np.array([first.elapsed_time(last) for first, last in self.laps]) * 1e3


def run(function, x):
    for _ in range(10):
        function(x)
    watch = Stopwatch()
    for _ in range(80):
        with watch:
            function(x)
    return watch.microseconds()


def fused(x):
    return torch.add(x, 1.0, alpha=3)


def plain(x):
    return x * 3 + 1.0


for shape in ((256, 1024), (1024, 1024), (2048, 512)):
    x = torch.rand(shape).npu()
    a, b = run(fused, x), run(plain, x)
    print(f"float32 {shape}, warm L2: fused {np.median(a):.2f} us (P90 {np.percentile(a, 90):.2f}), plain {np.median(b):.2f} us (P90 {np.percentile(b, 90):.2f}); fused is {np.median(b) / np.median(a):.2f} times as fast")
