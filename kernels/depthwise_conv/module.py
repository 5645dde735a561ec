"""labkit.operator("depthwise_conv"): the five steps of the half convolution, for notebooks 06.03 and 06.04."""

from __future__ import annotations

from functools import lru_cache

import torch

import labkit
from labkit import chips, paths

HERE = paths.kernels_dir() / "depthwise_conv"
VECTORS, CUBES = 48, 24  # cores of the 910B1
NAMES = """batch channels height width outHeight outWidth kernelH kernelW strideH strideW padH padW dilationH dilationW
upH upW flip bias"""


@lru_cache
def step(number: int):
    """The kernel of a step, 0 to 4."""
    if number == 4:
        return labkit.kernel(HERE / "depthwise_conv_cube.asc", entry="depthwise_conv_cube<half>")
    return labkit.kernel(HERE / "depthwise_conv.asc", entry=f"depthwise_conv<half, {number}>")


class Problem:
    """x, weight and y of one shape, half, 3 x 3, stride 1, padding 1.

    shape: [n, c, h, w]; c a multiple of 16 for step 4. bound: the memory bound in us. The numbers are sixteenths, so
    that every order of the sums gives the same.
    """

    def __init__(self, n: int, c: int, h: int, w: int):
        labkit.register(HERE / "depthwise_conv_torch.asc")
        self.shape, self.bound = (n, c, h, w), 4 * n * c * h * w / chips.flat("910B1")["gm.hbm"] * 1e6
        self.x = (torch.arange(n * c * h * w).reshape(n, c, h, w) % 31 / 16 - 1).half().npu()
        self.weight = (torch.arange(c * 9).reshape(c, 1, 3, 3) % 7 / 16).half().npu()
        self.last = self.x.to(memory_format=torch.channels_last)
        self.rows = self.last.permute(0, 2, 3, 1)  # the same memory as [n, h, w, c]
        self.y = torch.empty_like(self.rows)
        self.conv = dict(zip(NAMES.split(), (n, c, h, w, h, w, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0)))

    def step(self, number: int) -> torch.Tensor:
        """Launches a step; y [n, c, h, w], in memory as the step's x lies."""
        if number == 4:
            c, h = self.shape[1:3]
            blocks, pieces, high = min(CUBES, h), min(8, c // 16), max(1, -(-h // 96))
            step(4)[blocks](self.rows, self.weight, self.weight, self.y, self.conv, pieces, high)
            return self.y.permute(0, 3, 1, 2)
        x = self.x if number < 2 else self.rows
        y = self.y.view(self.shape) if number < 2 else self.y
        step(number)[VECTORS](x, self.weight, self.weight, y, self.conv)
        return y if number < 2 else y.permute(0, 3, 1, 2)

    def framework(self) -> torch.Tensor:
        """PyTorch's own operator."""
        return torch.nn.functional.conv2d(self.last, self.weight, padding=1, groups=self.shape[1])

    def operator(self) -> torch.Tensor:
        """The operator made of step 4."""
        return torch.ops.lab.depthwise_conv2d(self.last, self.weight, None, 1, 1)
