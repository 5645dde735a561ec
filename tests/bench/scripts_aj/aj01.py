"""How long does torch.sort along the last axis take, from issue to done?"""
import statistics
import time

import torch
import torch_npu  # noqa: F401

SHAPES = [(16, 1024), (64, 512), (32, 2048)]
SAMPLES = 40


def inputs(shape):
    made = [torch.randn(shape, device="npu") for _ in range(SAMPLES)]
    torch.npu.synchronize()
    return made


def sample(x):
    torch.npu.synchronize()
    begin = time.perf_counter()
    torch.sort(x, dim=-1)
    torch.npu.synchronize()
    return (time.perf_counter() - begin) * 1e6


def main():
    print("torch.sort, float32, along the last axis: issue to completion in microseconds, steady state.")
    print(f"{SAMPLES} samples a shape, each with its own random input (written shortly before, so it may sit in the L2).")
    for shape in SHAPES:
        times = [sample(x) for x in inputs(shape)]
        mean = statistics.fmean(times)
        deviation = statistics.stdev(times)
        q1, q2, q3 = statistics.quantiles(times, n=4)
        rows, columns = shape
        print(
            f"  {rows:4d} x {columns:5d}: mean {mean:8.2f} us +- {deviation:.2f} (standard deviation), "
            f"quartiles {q1:.2f} / {q2:.2f} / {q3:.2f}, range {min(times):.2f} .. {max(times):.2f}; "
            f"{rows * columns / mean:.1f} elements per us"
        )


if __name__ == "__main__":
    main()
