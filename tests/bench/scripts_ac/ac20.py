"""Memory bandwidth of the card: streaming add over a ring of buffers, read and written bytes over time."""
from dataclasses import dataclass

import numpy as np
import torch
import torch_npu  # noqa: F401

MB = 10 ** 6


@dataclass
class Stream:
    megabytes: int
    buffers: int = 4
    turns: int = 4
    samples: int = 15

    def __post_init__(self):
        numel = self.megabytes * MB // 4
        self.ring = [torch.ones(numel, device="npu") for _ in range(self.buffers)]
        self.out = torch.empty(numel, device="npu")
        self.bytes = 2 * 4 * numel

    def turn(self):
        for source in self.ring:
            torch.add(source, 1.0, out=self.out)

    def rates(self):
        for _ in range(2):
            self.turn()
        torch.npu.synchronize()
        marks = []
        for _ in range(self.samples):
            start, stop = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            start.record()
            for _ in range(self.turns):
                self.turn()
            stop.record()
            marks.append((start, stop))
        torch.npu.synchronize()
        seconds = np.array([a.elapsed_time(b) for a, b in marks]) / 1e3 / (self.turns * self.buffers)
        return self.bytes / seconds / 1e9


def main():
    print("HBM bandwidth (read + write), streaming add, float32")
    for megabytes in (8, 12, 16):
        rate = Stream(megabytes).rates()
        low, mid, high = np.percentile(rate, [5, 50, 95])
        print(f"{megabytes:3d} MB a buffer: {mid:7.1f} GB/s   P5 {low:7.1f}   P95 {high:7.1f}   n={rate.size}")


if __name__ == "__main__":
    main()
