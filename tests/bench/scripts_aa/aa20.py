import argparse
import statistics
import time

import torch
import torch_npu

DTYPES = {"fp32": torch.float32, "fp16": torch.float16}


def tflops(m, n, k, seconds):
    return 2 * m * n * k / seconds / 1e12


def round_time(function, calls):
    torch.npu.synchronize()
    begin = time.process_time()
    for _ in range(calls):
        function()
    torch.npu.synchronize()
    return (time.process_time() - begin) / calls


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="*", default=[512, 768, 1024])
    parser.add_argument("--dtype", choices=DTYPES, default="fp32")
    parser.add_argument("--calls", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()

    torch.manual_seed(0)
    print(f"matmul {args.dtype}, {args.rounds} rounds of {args.calls} calls")
    for size in args.sizes:
        a = torch.randn(size, size, dtype=DTYPES[args.dtype], device="npu")
        b = torch.randn(size, size, dtype=DTYPES[args.dtype], device="npu")
        for _ in range(5):
            torch.mm(a, b)
        rounds = sorted(round_time(lambda: torch.mm(a, b), args.calls) for _ in range(args.rounds))
        middle = statistics.median(rounds)
        print(f"  {size} x {size} x {size}: {middle * 1e6:9.1f} us a call ({rounds[0] * 1e6:.1f} to {rounds[-1] * 1e6:.1f}), "
              f"{tflops(size, size, size, middle):.2f} TFLOP/s")


if __name__ == "__main__":
    main()
