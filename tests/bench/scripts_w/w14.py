"""Time of the detector's stem (convolution, norm, activation, pooling)."""
import timeit
from typing import Iterable

import numpy as np
import torch
import torch.nn as nn
import torch_npu

IMAGES, SIDE, CHANNELS = 4, 48, 16
CALLS, SAMPLES = 5, 60


def stem():
    torch.manual_seed(7)
    return nn.Sequential(
        nn.Conv2d(3, CHANNELS, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(CHANNELS),
        nn.SiLU(),
        nn.MaxPool2d(2),
    ).eval()


def split(values: Iterable[float]):
    """(near the median, far from it): far is more than six scaled absolute deviations, and at least 5 %."""
    values = np.asarray(list(values))
    middle = np.median(values)
    limit = max(6 * 1.4826 * np.median(np.abs(values - middle)), 0.05 * middle)
    far = np.abs(values - middle) > limit
    return values[~far], values[far]


def row(name, values):
    p10, p50, p90 = np.percentile(values, [10, 50, 90])
    return (f"{name:24} n {len(values):3}   mean {values.mean():8.1f}   P10 {p10:8.1f}   P50 {p50:8.1f}   "
            f"P90 {p90:8.1f}   max {values.max():8.1f}")


def main():
    reference = stem()
    images = torch.rand(IMAGES, 3, SIDE, SIDE)
    with torch.inference_mode():
        wanted = reference(images)
    net = stem().npu()
    on_card = images.npu()

    @torch.inference_mode()
    def passes():
        for _ in range(CALLS):
            out = net(on_card)
        torch.npu.synchronize()
        return out

    assert torch.allclose(passes().cpu(), wanted, atol=1e-4)
    timer = timeit.Timer(passes)
    timer.repeat(repeat=8, number=1)
    us = np.array(timer.repeat(repeat=SAMPLES, number=1)) * 1e6 / CALLS

    near, far = split(us)
    assert len(near) + len(far) == SAMPLES
    print(f"stem, {IMAGES} x 3 x {SIDE} x {SIDE} float32, wall time of a pass in us ({CALLS} passes and one wait to a sample)")
    print(row("all samples", us))
    print(row("without the far ones", near))
    listed = ", ".join(f"{v:.1f}" for v in sorted(far)) or "none"
    print(f"far from the median, {len(far)} of {SAMPLES}: {listed}")


if __name__ == "__main__":
    main()
