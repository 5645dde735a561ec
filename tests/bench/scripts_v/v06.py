"""Device-to-device copy bandwidth with a working set well above the L2."""
import argparse
from dataclasses import dataclass

import numpy as np
import torch
import torch_npu

MB = 1 << 20


@dataclass
class Ring:
    elements: int
    pairs: list

    @classmethod
    def build(cls, elements, footprint):
        count = -(-footprint // (2 * elements * 4))
        return cls(elements, [
            (torch.full((elements,), float(i + 1), device="npu"), torch.zeros(elements, device="npu"))
            for i in range(count)
        ])

    @property
    def bytes_moved(self):
        return 2 * 4 * self.elements * len(self.pairs)

    def lap(self):
        for src, dst in self.pairs:
            dst.copy_(src)

    def check(self):
        for i, (_, dst) in enumerate(self.pairs):
            assert dst[0].item() == i + 1 and dst[-1].item() == i + 1


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--l2-mb", type=int, default=192)
    ap.add_argument("--footprint-mb", type=int, default=576)
    ap.add_argument("--laps", type=int, default=20)
    args = ap.parse_args()
    assert args.footprint_mb >= 3 * args.l2_mb

    for elements in (4 * MB, 8 * MB):
        ring = Ring.build(elements, args.footprint_mb * MB)
        for _ in range(2):
            ring.lap()
        torch.npu.synchronize()
        events = [torch.npu.Event(enable_timing=True) for _ in range(args.laps + 1)]
        events[0].record()
        for e in events[1:]:
            ring.lap()
            e.record()
        torch.npu.synchronize()
        ms = np.array([a.elapsed_time(b) for a, b in zip(events, events[1:])])
        ring.check()
        gbs = ring.bytes_moved / ms / 1e6
        print(f"fp32 copy_, {elements * 4 // MB} MiB per tensor, {len(ring.pairs)} pairs in turn "
              f"({ring.bytes_moved // MB} MiB touched before any reuse, L2 given as {args.l2_mb} MiB)")
        print(f"  read+write {np.median(gbs):.1f} GB/s median, {gbs.min():.1f} min, {gbs.max():.1f} max, {args.laps} laps")
        del ring


if __name__ == "__main__":
    main()
