import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

torch.set_num_threads(1)

ROUNDS = 50
CALLS = 30
SHAPES = ((4, 16, 28), (4, 32, 28))
LAYOUTS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


def bench(function):
    for _ in range(10):
        function()
    rounds = np.empty(ROUNDS)
    for i in range(ROUNDS):
        torch.npu.synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS):
            function()
        torch.npu.synchronize()
        rounds[i] = (time.perf_counter() - begin) / CALLS * 1e6
    return rounds


def run(layout):
    """rounds for each shape, in us a call, with everything in this memory format"""
    out = {}
    for batch, channels, side in SHAPES:
        generator = torch.Generator().manual_seed(channels)
        x = torch.randn(batch, channels, side, side, generator=generator)
        weight = torch.randn(channels, channels, 3, 3, generator=generator) / channels
        expected = F.conv2d(x, weight, padding=1)
        x, weight = (t.npu().contiguous(memory_format=layout) for t in (x, weight))
        torch.testing.assert_close(F.conv2d(x, weight, padding=1).cpu(), expected, rtol=1e-3, atol=1e-3)
        out[batch, channels, side] = bench(lambda: F.conv2d(x, weight, padding=1))
    return out


def main():
    results = {name: run(layout) for name, layout in LAYOUTS.items()}
    for batch, channels, side in SHAPES:
        print(f"conv2d 3x3, {batch} x {channels} x {side} x {side} float32, {ROUNDS} rounds of {CALLS} calls")
        medians = {}
        for name, rows in results.items():
            p10, medians[name], p90 = np.percentile(rows[batch, channels, side], (10, 50, 90))
            print(f"  {name:14} {medians[name]:8.2f} us ({p10:.2f} to {p90:.2f})")
        print(f"  channels_last takes {medians['channels_last'] / medians['contiguous']:.3f} times as long as contiguous")


if __name__ == "__main__":
    main()
