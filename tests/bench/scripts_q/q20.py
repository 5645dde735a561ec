"""conv2d 3 x 3 between events: minimum, median and P99 of each shape, since one figure alone hides the tail."""
import numpy as np
import torch
import torch_npu  # noqa: F401
from torch.nn import functional as F

SHAPES = ((1, 32, 28, 28), (4, 32, 28, 28), (4, 32, 41, 33))
SAMPLES = 200


def checked(shape):
    torch.manual_seed(0)
    x, weight = torch.rand(shape), torch.rand(32, shape[1], 3, 3)
    there = x.npu(), weight.npu()
    close = torch.allclose(F.conv2d(*there, padding=1).cpu(), F.conv2d(x, weight, padding=1), rtol=1e-3, atol=1e-2)
    assert close, f"conv2d is wrong at {shape}"
    return there


def sample(x, weight):
    for _ in range(10):
        F.conv2d(x, weight, padding=1)
    torch.npu.synchronize()
    marks = [(torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)) for _ in range(SAMPLES)]
    for start, end in marks:
        start.record()
        F.conv2d(x, weight, padding=1)
        end.record()
    torch.npu.synchronize()
    return np.array([1e3 * start.elapsed_time(end) for start, end in marks])


def main():
    print(f"us, {SAMPLES} samples each, all kept; float32, input and weight left in the L2 by the call before")
    print(f"{'shape':>14}{'min':>9}{'median':>9}{'P99':>9}{'max':>9}")
    tails = []
    for shape in SHAPES:
        us = sample(*checked(shape))
        median, p99 = np.percentile(us, [50, 99])
        tails.append(p99 / us.min())
        print(f"{'x'.join(map(str, shape)):>14}{us.min():9.1f}{median:9.1f}{p99:9.1f}{us.max():9.1f}")
    print(f"plan with the median; one call in a hundred takes up to {max(tails):.2f} times the minimum at these shapes")


if __name__ == "__main__":
    main()
