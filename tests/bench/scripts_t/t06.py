"""Streaming bandwidth with a cold L2.

Before each sample a scrub buffer twice the size of the L2 (192 MB) is
written, so that nothing of the source is left in the cache. Only the kernel
is between the two events.
"""
import statistics as st

import torch

import labkit  # noqa: F401

MB = 1 << 20
L2 = 192 * MB


class ColdBench:
    def __init__(self, samples=7):
        self.scrub = torch.empty(2 * L2 // 4, dtype=torch.float32, device="npu")
        self.samples = samples

    def flush(self):
        self.scrub.fill_(1.0)

    def time(self, fn):
        for _ in range(2):
            self.flush()
            fn()
        torch.npu.synchronize()
        pairs = []
        for _ in range(self.samples):
            self.flush()
            a = torch.npu.Event(enable_timing=True)
            b = torch.npu.Event(enable_timing=True)
            a.record()
            fn()
            b.record()
            pairs.append((a, b))
        torch.npu.synchronize()
        return [a.elapsed_time(b) * 1e-3 for a, b in pairs]


def sweep():
    bench = ColdBench()
    for mb in (16, 64, 128, 256):
        n = mb * MB // 4
        src = torch.ones(n, device="npu")
        dst = torch.empty_like(src)
        for label, fn, moved in (
            ("copy", lambda: dst.copy_(src), 2 * n * 4),
            ("scale", lambda: torch.mul(src, 0.5, out=dst), 2 * n * 4),
        ):
            secs = bench.time(fn)
            gbs = sorted(moved / s / 1e9 for s in secs)
            yield mb, label, gbs


if __name__ == "__main__":
    print("MB/array  op      GB/s median     low    high   (cold L2, bytes read + written)")
    for mb, label, gbs in sweep():
        print(f"{mb:8d}  {label:6s} {st.median(gbs):12.1f} {gbs[0]:7.1f} {gbs[-1]:7.1f}")
