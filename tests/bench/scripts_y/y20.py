"""ReLU over four shapes with nothing but time.time()."""
import torch
import torch_npu
import time
from collections import defaultdict

import numpy as np

SHAPES = ((128, 128), (512, 256), (512, 1024), (1024, 2048))
CALLS, ROUNDS, WARMUP = 80, 16, 40


def block(x, out, calls):
    for _ in range(calls):
        torch.clamp_min(x, 0.0, out=out)
    torch.npu.synchronize()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(16)
    operands = {}
    for shape in SHAPES:
        x = torch.randn(shape).npu()
        operands[shape] = (x, torch.empty_like(x))
        block(*operands[shape], WARMUP)
        assert torch.equal(operands[shape][1].cpu(), x.cpu().clamp_min(0.0))

    seconds = defaultdict(list)
    for turn in range(ROUNDS):
        for index in range(len(SHAPES)):
            shape = SHAPES[(turn + index) % len(SHAPES)]
            x, out = operands[shape]
            block(x, out, 2)
            begin = time.time()
            block(x, out, CALLS)
            seconds[shape].append(time.time() - begin)

    shortest = min(min(values) for values in seconds.values())
    resolution = time.get_clock_info("time").resolution
    print(f"clamp_min(x, 0), float32, operands in the L2; wall time per call, {CALLS} calls and one wait a sample, shapes in turn.")
    print(f"time.time() resolves {resolution * 1e6:.3f} us; the shortest sample took {shortest * 1e6:.0f} us in all.")
    print("A short call is bounded by the host that issues it: the figures are what a caller sees, not kernel times.")
    for shape in SHAPES:
        us = np.array(seconds[shape]) / CALLS * 1e6
        low, p50, p90 = us.min(), *np.percentile(us, [50, 90])
        print(f"  {shape[0]:5} x {shape[1]:<5} P50 {p50:8.2f} us   P90 {p90:8.2f} us   least {low:8.2f} us   {us.size} samples")
    print("Nothing is said here about other shapes or types.")


main()
