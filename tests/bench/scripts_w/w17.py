"""Copies on the card: buffers that come round again through the L2, and buffers that do not."""
import csv
import sys
from collections import deque

import numpy as np
import torch
import torch_npu

MB = 2**20
L2 = torch.npu.get_device_properties(0).L2_cache_size
PASSES = 16


class Ring:
    """Pairs of source and destination, copied one after the other."""

    def __init__(self, name, pairs, megabytes):
        count = megabytes * MB // 4
        self.name = name
        self.pairs = [
            (torch.full((count,), float(i + 1), device="npu"), torch.zeros(count, device="npu")) for i in range(pairs)
        ]
        self.footprint = 2 * pairs * megabytes * MB
        self.marks = deque()

    def go_round(self, times=1):
        for _ in range(times):
            for source, destination in self.pairs:
                destination.copy_(source)

    def timed_round(self, times):
        start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        start.record()
        self.go_round(times)
        end.record()
        self.marks.append((start, end, times))

    def rates(self):
        """GB/s of reads and writes together, a value for each timed round."""
        return np.array([times * self.footprint / a.elapsed_time(b) / 1e6 for a, b, times in self.marks])

    def right(self):
        return all(bool((d == s).all().item()) for s, d in self.pairs)


def main():
    small = Ring("one pair, again and again", pairs=1, megabytes=32)
    large = Ring("ring of eight pairs", pairs=8, megabytes=40)
    assert small.footprint < L2 / 2 and large.footprint > 3 * L2

    for ring in (small, large):
        ring.go_round(2)
        assert ring.right()

    rng = np.random.default_rng(4)
    for _ in range(PASSES):
        for ring in rng.permutation([small, large]):
            ring.go_round()  # brings the L2 into the state that this ring leaves it in
            ring.timed_round(times=1 if ring is large else 6)
    torch.npu.synchronize()

    print(f"# float32 copies; reads and writes together; L2 of {L2 // MB} MB; {PASSES} rounds each, in drawn order")
    table = csv.writer(sys.stdout)
    table.writerow(["buffers", "footprint_MB", "p10_GBs", "p50_GBs", "p90_GBs", "fits_L2"])
    for ring in (small, large):
        rates = ring.rates()
        assert len(rates) == PASSES
        table.writerow(
            [ring.name, ring.footprint // MB, *(f"{v:.0f}" for v in np.percentile(rates, [10, 50, 90])),
             "yes" if ring.footprint < L2 else "no"]
        )


if __name__ == "__main__":
    main()
