import labkit
from dataclasses import dataclass, field

import numpy as np
import torch


@dataclass
class CopyRun:
    mib: int
    samples: list = field(default_factory=list)  # us

    @property
    def moved(self):
        return 2 * (self.mib << 20)  # bytes read and bytes written

    def take(self, count, warm=20):
        source = torch.rand((self.mib << 20) // 4, device="npu")
        target = torch.empty_like(source)
        for _ in range(warm):
            target.copy_(source)
        events = []
        for _ in range(count):
            begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            begin.record()
            target.copy_(source)
            end.record()
            events.append((begin, end))
        torch.npu.synchronize()
        assert torch.equal(source.cpu(), target.cpu())
        self.samples = [1e3 * begin.elapsed_time(end) for begin, end in events]
        return self

    def quantiles(self):
        return np.percentile(self.samples, [25, 50, 75])

    def gbps(self):
        return self.moved / np.median(self.samples) / 1e3

    def __str__(self):
        p25, p50, p75 = self.quantiles()
        return (
            f"{self.mib:3} MiB float32: median {p50:.2f} us (P25 {p25:.2f}, P75 {p75:.2f}, {len(self.samples)} samples), "
            f"{self.gbps():.0f} GB/s read and written"
        )


runs = [CopyRun(mib).take(80) for mib in (8, 16, 32)]
print(f"device-to-device copy on {torch.npu.get_device_name(0)}, device time by events, one wait behind the samples")
for run in runs:
    print(run)
largest = runs[-1]
print(f"HBM bandwidth: {largest.gbps():.0f} GB/s, measured with {largest.mib} MiB. Memory-bound layers can count on this rate.")
