"""STREAM-like copy bandwidth. The L2 holds 192 MB, the last two rows are far beyond it."""
import argparse
import statistics
import time

import labkit  # noqa: F401
import torch

L2 = 192 * 2 ** 20


def copy_rate(nbytes, iters, repeats):
    src = torch.zeros(nbytes, dtype=torch.uint8, device="npu")
    dst = torch.zeros(nbytes, dtype=torch.uint8, device="npu")
    for _ in range(3):
        dst.copy_(src)
    torch.npu.synchronize()
    rates = []
    for _ in range(repeats):
        t0 = time.perf_counter()
        for _ in range(iters):
            dst.copy_(src)
        torch.npu.synchronize()
        rates.append(2 * nbytes * iters / (time.perf_counter() - t0) / 1e9)
    return rates


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--mib", type=int, nargs="+", default=[32, 1024, 1536])
    ap.add_argument("--iters", type=int, default=8)
    ap.add_argument("--repeats", type=int, default=5)
    args = ap.parse_args()

    print(f"{'MiB/buffer':>10}  {'level':<22}{'GB/s median':>12}{'min':>9}{'max':>9}   (read + write)")
    for mib in args.mib:
        nbytes = mib * 2 ** 20
        if 2 * nbytes <= L2:
            level = "L2-resident, not HBM"
        elif nbytes >= 4 * L2:
            level = "HBM"
        else:
            level = "mixed L2/HBM"
        r = copy_rate(nbytes, args.iters, args.repeats)
        print(f"{mib:>10}  {level:<22}{statistics.median(r):12.1f}{min(r):9.1f}{max(r):9.1f}")


if __name__ == "__main__":
    main()
