"""Host to device copy rate. The first copy of the process is listed on a line of its own."""
import argparse
import time

import numpy as np
import torch
import torch_npu


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--mb", type=int, nargs="+", default=[8, 16, 32])
    p.add_argument("--repeat", type=int, default=20)
    p.add_argument("--pinned", action=argparse.BooleanOptionalAction, default=True)
    return p.parse_args()


def one_copy(dst, src):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    dst.copy_(src, non_blocking=True)
    torch.npu.synchronize()
    return time.perf_counter() - t0


def main():
    args = parse()
    first_done = False
    for mb in args.mb:
        src = torch.ones(mb << 20, dtype=torch.uint8)
        if args.pinned:
            src = src.pin_memory()
        dst = torch.empty(mb << 20, dtype=torch.uint8, device="npu")
        if not first_done:
            print(f"first copy of the process ({mb} MiB, not part of the table): {1e6 * one_copy(dst, src):.0f} us")
            first_done = True
        for _ in range(3):
            one_copy(dst, src)
        t = np.array([one_copy(dst, src) for _ in range(args.repeat)])
        p10, p50, p90 = np.percentile(t, [10, 50, 90])
        kind = "pinned" if args.pinned else "pageable"
        print(
            f"{mb:4} MiB {kind}: {1e6 * p50:9.1f} us from call to finished (P10 {1e6 * p10:.1f}, P90 {1e6 * p90:.1f}, "
            f"n={args.repeat}), {(mb << 20) / p50 / 1e9:.2f} GB/s"
        )
        assert dst.sum().item() == (mb << 20)


if __name__ == "__main__":
    main()
