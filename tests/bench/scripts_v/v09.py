"""STREAM-style triad on the NPU: a = b + s * c."""
import argparse
import csv
import io

import numpy as np
import torch
import torch_npu


class Triad:
    def __init__(self, n):
        self.n = n
        self.a = torch.zeros(n, device="npu")
        self.b = torch.rand(n, device="npu")
        self.c = torch.rand(n, device="npu")

    def __call__(self):
        torch.add(self.b, self.c, alpha=3.0, out=self.a)

    @property
    def nbytes(self):
        return 3 * self.n * self.a.element_size()

    def verify(self):
        torch.testing.assert_close(self.a.cpu(), self.b.cpu() + 3.0 * self.c.cpu())


def event_times(fn, samples, inner):
    marks = [(torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)) for _ in range(samples)]
    for start, end in marks:
        start.record()
        for _ in range(inner):
            fn()
        end.record()
    torch.npu.synchronize()
    return np.array([s.elapsed_time(e) / inner for s, e in marks])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--samples", type=int, default=30)
    ap.add_argument("--inner", type=int, default=20)
    args = ap.parse_args()

    text = io.StringIO()
    table = csv.writer(text, delimiter="\t")
    table.writerow(["elements", "MB/array", "GB/s p10", "GB/s p50", "GB/s p90"])
    medians = []
    for n in (256 * 1024, 512 * 1024, 1024 * 1024):
        triad = Triad(n)
        event_times(triad, 3, args.inner)
        ms = event_times(triad, args.samples, args.inner)
        triad.verify()
        gbs = triad.nbytes / ms / 1e6
        p10, p50, p90 = np.percentile(gbs, [10, 50, 90])
        medians.append(p50)
        table.writerow([n, f"{n * 4 / 1e6:.1f}", f"{p10:.1f}", f"{p50:.1f}", f"{p90:.1f}"])
    print(text.getvalue())
    print(f"HBM bandwidth (triad, fp32): {min(medians):.0f} to {max(medians):.0f} GB/s for the array sizes above")


if __name__ == "__main__":
    main()
