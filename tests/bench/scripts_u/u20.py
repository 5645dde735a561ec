"""Memory bandwidth probe: elementwise add, several tensor sizes."""
import argparse
import statistics

import labkit  # noqa: F401
import torch


class EventTimer:
    def __enter__(self):
        self.start = torch.npu.Event(enable_timing=True)
        self.end = torch.npu.Event(enable_timing=True)
        self.start.record()
        return self

    def __exit__(self, *exc):
        self.end.record()
        self.end.synchronize()
        self.ms = self.start.elapsed_time(self.end)


def probe(numel, iters, repeats):
    a = torch.randn(numel, device="npu")
    b = torch.randn(numel, device="npu")
    c = torch.empty(numel, device="npu")
    for _ in range(5):
        torch.add(a, b, out=c)
    torch.npu.synchronize()
    gbs = []
    for _ in range(repeats):
        with EventTimer() as t:
            for _ in range(iters):
                torch.add(a, b, out=c)
        gbs.append(3 * a.element_size() * numel * iters / (t.ms * 1e-3) / 1e9)
    return gbs


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--mib", type=int, nargs="+", default=[8, 16, 32])
    ap.add_argument("--iters", type=int, default=15)
    ap.add_argument("--repeats", type=int, default=5)
    args = ap.parse_args()

    print("HBM bandwidth, c = a + b, fp32")
    print(f"{'MiB/tensor':>10}{'GB/s':>10}{'min':>10}{'max':>10}")
    for mib in args.mib:
        g = probe(mib * 2 ** 20 // 4, args.iters, args.repeats)
        print(f"{mib:>10}{statistics.median(g):10.1f}{min(g):10.1f}{max(g):10.1f}")


if __name__ == "__main__":
    main()
