import labkit
import argparse
import statistics

import torch
import torch.nn.functional as F


def parse():
    parser = argparse.ArgumentParser(description="time of gelu on the device")
    parser.add_argument("--rows", type=int, nargs="+", default=[512, 1024, 2048])
    parser.add_argument("--columns", type=int, default=2048)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--warm", type=int, default=10)
    parser.add_argument("--approximate", choices=["none", "tanh"], default="tanh")
    return parser.parse_args()


def lap(base, approximate):
    start = torch.npu.Event(enable_timing=True)
    stop = torch.npu.Event(enable_timing=True)
    start.record()
    x = base.clone()  # every call gets an input of its own
    y = F.gelu(x, approximate=approximate)
    stop.record()
    return start, stop, y


def main():
    args = parse()
    print(f"gelu({args.approximate}), float32, {args.samples} calls after {args.warm} to warm up, "
          "device time by events, inputs in L2")
    for rows in args.rows:
        base = torch.randn(rows, args.columns, device="npu")
        for _ in range(args.warm):
            lap(base, args.approximate)
        torch.npu.synchronize()
        laps = [lap(base, args.approximate) for _ in range(args.samples)]
        torch.npu.synchronize()
        torch.testing.assert_close(laps[-1][2].cpu(), F.gelu(base.cpu(), approximate=args.approximate), rtol=1e-3, atol=1e-3)
        us = [1e3 * start.elapsed_time(stop) for start, stop, _ in laps]
        q1, mid, q3 = statistics.quantiles(us, n=4)
        moved = 2 * base.numel() * base.element_size()
        print(f"{rows:5} x {args.columns}: gelu takes {mid:.1f} us (median; quartiles {q1:.1f} and {q3:.1f}), "
              f"{moved / mid / 1e3:.0f} GB/s for its one read and one write")


main()
