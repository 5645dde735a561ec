"""Dispatch overhead: how long does the host need to issue one small op?"""
import argparse
import time

import labkit  # noqa: F401
import numpy as np
import torch


def issue_and_done(fn, launches):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(launches):
        fn()
    issued = time.perf_counter()
    torch.npu.synchronize()
    done = time.perf_counter()
    return (issued - t0) / launches * 1e6, (done - t0) / launches * 1e6


def show(label, us):
    us = np.asarray(us)
    print(f"  {label:<34} median {np.median(us):8.2f}  [{us.min():.2f} .. {us.max():.2f}] us")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--launches", type=int, default=20)
    ap.add_argument("--rounds", type=int, default=6)
    args = ap.parse_args()

    small = torch.randn(64, 64, device="npu")
    other = torch.randn(64, 64, device="npu")
    ops = {
        "add_ 64x64": lambda: small.add_(1.0),
        "mm 64x64": lambda: torch.mm(small, other),
    }
    for name, fn in ops.items():
        for _ in range(10):
            fn()
        issue, done = zip(*(issue_and_done(fn, args.launches) for _ in range(args.rounds)))
        print(f"{name} ({args.rounds} rounds of {args.launches} launches)")
        show("host issue time per launch", issue)
        show("until the device is done, per launch", done)
    print("\nIssue time is host time only: it says nothing about how long the device computes.")


if __name__ == "__main__":
    main()
