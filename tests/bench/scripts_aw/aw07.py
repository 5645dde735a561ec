#!/usr/bin/env python
# Square float32 matmuls. For each size the host's share is looked at as well: where issuing the calls takes
# as long as the whole loop, the rate says how fast we call and nothing about the Cube units.
import time

import torch
import torch_npu

SIZES = [128, 256, 512, 768]
LOOP = 20
REPEATS = 5


def operands(n):
    return torch.randn(n, n, device="npu"), torch.randn(n, n, device="npu"), torch.empty(n, n, device="npu")


def loop(a, b, out):
    """(time until all calls were issued, time until all were done), seconds."""
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(LOOP):
        torch.mm(a, b, out=out)
    issued = time.perf_counter() - t0
    torch.npu.synchronize()
    done = time.perf_counter() - t0
    return issued, done


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def row(n):
    a, b, out = operands(n)
    for _ in range(5):
        torch.mm(a, b, out=out)
    runs = [loop(a, b, out) for _ in range(REPEATS)]
    issued = median([i for i, _ in runs]) / LOOP
    done = median([d for _, d in runs]) / LOOP
    low, high = min(d for _, d in runs) / LOOP, max(d for _, d in runs) / LOOP
    bound = "host" if issued > 0.9 * done else "device"
    rate = f"{2 * n**3 / done / 1e12:8.2f}" if bound == "device" else f"{'-':>8}"
    return (f"{n:6d} {issued * 1e6:11.2f} {done * 1e6:11.2f} {low * 1e6:9.2f} {high * 1e6:9.2f}"
            f" {rate}  {bound}")


if __name__ == "__main__":
    print(torch.npu.get_device_name(0), "| float32 | allow_hf32 =", torch.npu.matmul.allow_hf32)
    print(f"medians of {REPEATS} loops of {LOOP} calls, operands warm in the L2; done/min/max: us a call with one wait a loop")
    print(f"{'n':>6} {'issue us':>11} {'done us':>11} {'min':>9} {'max':>9} {'TFLOP/s':>8}  bound by")
    for n in SIZES:
        print(row(n))
