"""Optimizer-step benchmark: AdamW over parameter lists of a few sizes.

Prints one CSV line per size; steady_us is what one optimizer.step() adds to each iteration of a long run.
"""
import statistics
import sys

import torch
import torch_npu

REPEATS, STEPS = 5, 5
SIZES = {
    "tiny": [(64, 64), (64,)] * 2,
    "small": [(128, 128), (128,)] * 4,
    "medium": [(256, 256), (256,)] * 6,
}


def make(shapes):
    params = []
    for shape in shapes:
        p = torch.nn.Parameter(torch.randn(*shape, device="npu") * 0.02)
        p.grad = torch.randn(*shape, device="npu")
        params.append(p)
    optimizer = torch.optim.AdamW(params, lr=3e-4, weight_decay=0.1, foreach=False)
    return params, optimizer


def run(shapes):
    params, optimizer = make(shapes)
    marks = [torch.npu.Event(enable_timing=True) for _ in range(STEPS + 1)]
    torch.npu.synchronize()
    marks[0].record()
    for mark in marks[1:]:
        optimizer.step()
        mark.record()
    torch.npu.synchronize()
    return params, [a.elapsed_time(b) * 1e3 for a, b in zip(marks, marks[1:])]


def main(out=sys.stdout):
    torch.set_num_threads(1)
    print("size,tensors,elements,steps,steady_us,stdev_us", file=out)
    for name, shapes in SIZES.items():
        times = []
        for _ in range(REPEATS):
            params, laps = run(shapes)
            times += laps
        elements = sum(p.numel() for p in params)
        print(
            f"{name},{len(params)},{elements},{len(times)},{statistics.fmean(times):.0f},{statistics.stdev(times):.0f}",
            file=out,
        )


if __name__ == "__main__":
    main()
