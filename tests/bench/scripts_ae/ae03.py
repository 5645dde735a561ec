"""Effective bandwidth of the fp32 -> fp16 weight cast that our loader does once per shard."""
import argparse
import csv
import statistics
import sys

import torch
import labkit  # noqa: F401  (brings the npu device)

GB = 1e9


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rows", type=int, default=4096)
    p.add_argument("--cols", type=int, default=4096)
    p.add_argument("--shards", type=int, default=8, help="source tensors in turn; together larger than the L2")
    p.add_argument("--samples", type=int, default=48)
    return p.parse_args()


class CastBench:
    """One sample = one cast of one shard, bracketed by two events, no wait in between."""

    def __init__(self, rows, cols, shards):
        self.src = [torch.empty(rows, cols, dtype=torch.float32, device="npu").fill_(i + 0.5) for i in range(shards)]
        self.dst = [torch.empty(rows, cols, dtype=torch.float16, device="npu") for _ in range(shards)]

    def cast(self, i):
        k = i % len(self.src)
        self.dst[k].copy_(self.src[k])

    @property
    def traffic(self):
        # every element is read once and written once
        return 2 * self.src[0].numel() * self.src[0].element_size()

    def run(self, samples):
        for i in range(2 * len(self.src)):
            self.cast(i)
        torch.npu.synchronize()
        marks = [(torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)) for _ in range(samples)]
        for i, (a, b) in enumerate(marks):
            a.record()
            self.cast(i)
            b.record()
        torch.npu.synchronize()
        return [a.elapsed_time(b) * 1e-3 for a, b in marks]


def main():
    args = parse()
    bench = CastBench(args.rows, args.cols, args.shards)
    seconds = sorted(bench.run(args.samples))
    assert bench.dst[1].float().mean().item() == 1.5
    q = statistics.quantiles(seconds, n=20)
    out = csv.writer(sys.stdout)
    out.writerow(["op", "shape", "samples", "p5_us", "median_us", "p95_us", "GB_per_s"])
    med = statistics.median(seconds)
    out.writerow(["cast fp32->fp16", f"{args.rows}x{args.cols}", len(seconds), f"{q[0] * 1e6:.1f}", f"{med * 1e6:.1f}",
                  f"{q[-1] * 1e6:.1f}", f"{bench.traffic / med / GB:.0f}"])
    print(f"# {args.shards} shards of {args.rows}x{args.cols} in turn, {args.shards * 96} MiB with the outputs: "
          f"nothing is left in the 192 MiB L2.\n# The cast moves {bench.traffic / med / GB:.0f} GB/s between HBM and the cores.")


if __name__ == "__main__":
    main()
