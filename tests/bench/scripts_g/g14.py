"""Three ways to square a tensor; which one should the style guide name?"""

import argparse

import numpy as np
import torch
import torch_npu  # noqa: F401

WAYS = {"x * x": lambda x: x * x, "torch.square(x)": torch.square, "x.pow(2)": lambda x: x.pow(2)}


def device_us(function, x, samples):
    for _ in range(20):
        function(x)
    torch.npu.synchronize()
    pairs = []
    for _ in range(samples):
        first, last = (torch.npu.Event(enable_timing=True) for _ in range(2))
        first.record()
        function(x)
        last.record()
        pairs.append((first, last))
    torch.npu.synchronize()
    return np.array([first.elapsed_time(last) for first, last in pairs]) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=250)
    parser.add_argument("--sides", type=int, nargs="*", default=[1024, 1536])
    options = parser.parse_args()
    for side in options.sides:
        x = torch.rand(side, side).npu()
        print(f"float32 ({side}, {side}), input stays in L2, {options.samples} samples")
        base = None
        for name, function in WAYS.items():
            us = device_us(function, x, options.samples)
            p10, p50, p90 = np.percentile(us, [10, 50, 90])
            base = base or p50
            print(f"  {name:16} P50 {p50:7.2f} us  (P10 {p10:.2f}, P90 {p90:.2f})   {base / p50:.3f} x")


if __name__ == "__main__":
    main()
