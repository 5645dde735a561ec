"""In-place prefix sum over rows: time and effective bandwidth by row length."""
import argparse
import time

import torch
import torch_npu


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--elements", type=int, default=1 << 21, help="elements of a case, whatever its shape")
    p.add_argument("--lengths", type=int, nargs="+", default=[256, 1024, 4096])
    p.add_argument("--calls", type=int, default=40)
    p.add_argument("--warmup", type=int, default=8)
    return p.parse_args()


class RowScan:
    """Prefix sums of `rows` rows of `length` floats, in the buffer itself."""

    def __init__(self, rows, length):
        self.fresh = torch.rand(rows, length, device="npu")
        self.buffer = torch.empty_like(self.fresh)

    def verify(self):
        self()
        expected = self.fresh.cpu().double().cumsum(1)
        error = (self.buffer.cpu().double() - expected).abs().max().item()
        assert error < 1e-3 * self.fresh.shape[1], error

    def __call__(self):
        self.buffer.copy_(self.fresh)
        self.buffer.cumsum_(dim=1)


def seconds_per_call(scan, calls):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        scan()
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / calls


def main():
    args = parse()
    print(f"cumsum_ over dim 1, float32, {args.elements} elements, mean of {args.calls} calls after {args.warmup}")
    print("Buffers are used again in every call and may stay in the L2.")
    header = ("rows", "length", "cumsum_ us", "GB/s (read + write)")
    print("{:>8}  {:>8}  {:>12}  {:>20}".format(*header))
    for length in args.lengths:
        rows = args.elements // length
        scan = RowScan(rows, length)
        scan.verify()
        for _ in range(args.warmup):
            scan()
        seconds = seconds_per_call(scan, args.calls)
        moved = 2 * 4 * rows * length
        print(f"{rows:>8}  {length:>8}  {seconds * 1e6:>12.2f}  {moved / seconds / 1e9:>20.1f}")


if __name__ == "__main__":
    main()
