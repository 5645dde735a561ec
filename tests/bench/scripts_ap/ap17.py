import argparse
import time

import numpy as np
import torch
import torch_npu


class Joiner:
    """Concatenates pieces of a KV cache along the token axis."""

    def __init__(self):
        self.joined = {}

    def __call__(self, pieces):
        key = tuple(p.data_ptr() for p in pieces)
        out = self.joined.get(key)
        if out is None:
            out = self.joined[key] = torch.cat(pieces, dim=0)
        return out


def main():
    ap = argparse.ArgumentParser(description="time the concatenation of KV pieces")
    ap.add_argument("--pieces", type=int, nargs="+", default=[2, 4, 8])
    ap.add_argument("--tokens", type=int, default=128, help="tokens of a piece")
    ap.add_argument("--width", type=int, default=1024)
    ap.add_argument("--sets", type=int, default=12, help="different inputs, used in turn")
    ap.add_argument("--samples", type=int, default=100)
    ap.add_argument("--warmup", type=int, default=24)
    args = ap.parse_args()

    for n in args.pieces:
        join = Joiner()
        sets = [[torch.randn(args.tokens, args.width, device="npu").half() for _ in range(n)] for _ in range(args.sets)]
        for s in sets:
            assert torch.equal(join(s).cpu(), torch.cat([p.cpu() for p in s]))
        for i in range(args.warmup):
            join(sets[i % args.sets])
        torch.npu.synchronize()

        us = []
        for i in range(args.samples):
            pieces = sets[i % args.sets]
            torch.npu.synchronize()
            t0 = time.perf_counter()
            join(pieces)
            torch.npu.synchronize()
            us.append((time.perf_counter() - t0) * 1e6)

        p10, p50, p90 = np.percentile(us, [10, 50, 90])
        moved = 2 * n * args.tokens * args.width * 2
        print(f"concat of {n} x ({args.tokens}, {args.width}) fp16, pieces hot in L2, host call to device idle: "
              f"p50 {p50:.2f} us (p10 {p10:.2f}, p90 {p90:.2f}, {len(us)} joins) = {moved / p50 / 1e3:.1f} GB/s moved")


if __name__ == "__main__":
    main()
