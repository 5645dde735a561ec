import time

import numpy as np
import torch
import torch_npu

torch.set_num_threads(1)

ROUNDS = 30
CALLS = 80
SHAPES = ((256, 1024), (128, 2048))
VARIANTS = {"softmax": torch.softmax, "log_softmax": torch.log_softmax}


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


def run(function):
    """rounds for each shape, in us a call"""
    out = {}
    for shape in SHAPES:
        x = torch.randn(shape)
        on_device = x.npu()
        torch.testing.assert_close(function(on_device, dim=-1).cpu(), function(x, dim=-1), rtol=1e-3, atol=1e-3)
        out[shape] = bench(lambda: function(on_device, dim=-1))
    return out


def main():
    torch.manual_seed(5)
    results = {name: run(function) for name, function in VARIANTS.items()}
    for shape in SHAPES:
        print(f"{shape[0]} x {shape[1]} float32, over the last dimension, {ROUNDS} rounds of {CALLS} calls")
        medians = {}
        for name, rows in results.items():
            p10, medians[name], p90 = np.percentile(rows[shape], (10, 50, 90))
            print(f"  {name:12} {medians[name]:8.2f} us ({p10:.2f} to {p90:.2f})")
        print(f"  log_softmax takes {medians['log_softmax'] / medians['softmax']:.3f} times as long as softmax")


if __name__ == "__main__":
    main()
