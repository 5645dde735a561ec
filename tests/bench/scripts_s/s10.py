"""Row softmax with a cold L2: every launch follows a sweep over a 256 MB scratch buffer."""
import argparse

import labkit  # noqa: F401
import numpy as np
import torch


class ColdTimer:
    def __init__(self, samples, scratch_mb=256):
        self.scratch = torch.empty(scratch_mb << 20, dtype=torch.int8, device="npu")
        self.begin = [torch.npu.Event(enable_timing=True) for _ in range(samples)]
        self.end = [torch.npu.Event(enable_timing=True) for _ in range(samples)]

    def __call__(self, fn):
        for b, e in zip(self.begin, self.end):
            self.scratch.zero_()
            b.record()
            fn()
            e.record()
        torch.npu.synchronize()
        return np.array([b.elapsed_time(e) for b, e in zip(self.begin, self.end)]) * 1e3


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--samples", type=int, default=30)
    args = ap.parse_args()
    torch.manual_seed(0)
    props = torch.npu.get_device_properties(0)
    print(f"{props.name}, L2 {props.L2_cache_size >> 20} MB, scratch 256 MB swept before each launch "
          "outside of the events; rate = (bytes read + bytes written) / time, inputs cold")
    clock = ColdTimer(args.samples)
    for rows, cols in [(1024, 512), (2048, 1024), (4096, 1024)]:
        x = torch.randn(rows, cols, device="npu").half()
        out = torch.empty_like(x)

        def launch():
            torch.softmax(x, dim=-1, out=out)

        for _ in range(10):
            launch()
        torch.npu.synchronize()
        us = clock(launch)
        lo, mid, hi = np.percentile(us, [10, 50, 90])
        bytes_moved = 2 * x.numel() * x.element_size()
        print(f"{rows}x{cols} float16: p50 {mid:.2f} us, p10 {lo:.2f}, p90 {hi:.2f}, "
              f"max {us.max():.2f} (n={us.size}); {bytes_moved / mid / 1e3:.1f} GB/s at the median")


if __name__ == "__main__":
    main()
