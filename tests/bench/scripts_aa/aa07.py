import numpy as np
import torch
import torch_npu
from collections import namedtuple

Row = namedtuple("Row", "name mib us low high gbps")


class Bandwidth:
    """Streaming kernels on flat float32 arrays; each knows how many arrays it touches."""

    kernels = {
        "copy": (2, lambda a, b, c: c.copy_(a)),
        "scale": (2, lambda a, b, c: torch.mul(a, 3.0, out=c)),
        "add": (3, lambda a, b, c: torch.add(a, b, out=c)),
    }

    def __init__(self, mib, device="npu"):
        n = mib * 2**20 // 4
        self.mib = mib
        self.a, self.b, self.c = (torch.rand(n, device=device) for _ in range(3))

    def sample(self, kernel, count):
        marks = [torch.npu.Event(enable_timing=True) for _ in range(count + 1)]
        marks[0].record()
        for mark in marks[1:]:
            kernel(self.a, self.b, self.c)
            mark.record()
        torch.npu.synchronize()
        return np.array([p.elapsed_time(q) * 1e3 for p, q in zip(marks, marks[1:])])

    def rows(self, count=60):
        for name, (arrays, kernel) in self.kernels.items():
            self.sample(kernel, 10)
            low, mid, high = np.percentile(self.sample(kernel, count), (10, 50, 90))
            moved = arrays * self.mib * 2**20
            yield Row(name, self.mib, mid, low, high, moved / mid / 1e3)


print("HBM bandwidth, STREAM kernels, float32, 60 samples by events")
print(f"{'kernel':8}{'array':>8}{'median':>12}{'p10..p90':>20}{'HBM GB/s':>12}")
for mib in (8, 16, 32):
    for row in Bandwidth(mib).rows():
        print(f"{row.name:8}{row.mib:>4} MiB{row.us:>9.1f} us{row.low:>9.1f} ..{row.high:>7.1f}{row.gbps:>12.0f}")
