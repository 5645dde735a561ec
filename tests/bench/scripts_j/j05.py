"""Memory bandwidth of the card, by a scaled copy (STREAM 'scale'). Median of many event pairs."""

from dataclasses import dataclass

import numpy as np
import torch
import torch_npu  # noqa: F401


@dataclass
class Stream:
    elements: int
    repeats: int = 120

    def prepare(self):
        self.src = torch.ones(self.elements).npu()
        self.dst = torch.empty(self.elements).npu()

    def kernel(self):
        torch.mul(self.src, 3.0, out=self.dst)

    def run(self):
        self.prepare()
        for _ in range(15):
            self.kernel()
        torch.npu.synchronize()
        begin = [torch.npu.Event(enable_timing=True) for _ in range(self.repeats)]
        end = [torch.npu.Event(enable_timing=True) for _ in range(self.repeats)]
        for b, e in zip(begin, end):
            b.record()
            self.kernel()
            e.record()
        torch.npu.synchronize()
        return np.array([b.elapsed_time(e) * 1e-3 for b, e in zip(begin, end)])


print("HBM bandwidth, STREAM scale, float32, read + write")
for mib in (16, 32, 48):
    stream = Stream(elements=mib * 2**20 // 4)
    seconds = stream.run()
    moved = 2 * mib * 2**20
    low, mid, high = (moved / np.percentile(seconds, q) / 1e9 for q in (90, 50, 10))
    print(f"  {mib:3d} MiB a vector, {seconds.size} samples: HBM {mid:7.0f} GB/s (P10 {low:.0f}, P90 {high:.0f})")
