"""Models of the case studies, in plain PyTorch: YOLOv5's blocks and backbone, an LSTM cell, a recommender.

Their sizes are arguments: small for a test, the published ones for a time (labkit.fusion.analyze computes nothing).
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class Conv(nn.Module):
    """Convolution, batch norm, SiLU: what all of YOLOv5 is made of."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 1, stride: int = 1):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return F.silu(self.norm(self.conv(x)), inplace=True)


class Focus(nn.Module):
    """Every second place of each side goes to the channels, then a convolution: YOLOv5's first layer."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 3):
        super().__init__()
        self.conv = Conv(4 * inputs, outputs, kernel)

    def forward(self, x):
        return self.conv(torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1))


class C3(nn.Module):
    """Two ways side by side, one of them through `depth` residual pairs of convolutions, put together by a third."""

    def __init__(self, inputs: int, outputs: int, depth: int = 1):
        super().__init__()
        half = outputs // 2
        self.one, self.two, self.three = Conv(inputs, half), Conv(inputs, half), Conv(2 * half, outputs)
        self.pairs = nn.ModuleList(nn.Sequential(Conv(half, half), Conv(half, half, 3)) for _ in range(depth))

    def forward(self, x):
        y = self.one(x)
        for pair in self.pairs:
            y = y + pair(y)
        return self.three(torch.cat([y, self.two(x)], 1))


class SPPF(nn.Module):
    """Maxima over 5, 9 and 13 places, by one pooling three times."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.one, self.two = Conv(inputs, inputs // 2), Conv(2 * inputs, outputs)

    def forward(self, x):
        parts = [self.one(x)]
        for _ in range(3):
            parts.append(F.max_pool2d(parts[-1], 5, 1, 2))
        return self.two(torch.cat(parts, 1))


def yolov5_backbone(width: int = 32) -> nn.Sequential:
    """A backbone of YOLOv5's blocks, at width 32 of the size of its s model: Focus as in release 5.0, SPPF and the
    depths 1, 2, 3, 1 as from 6.0 on. x: [batch, 3, height, width], both sides multiples of 32.
    """
    w = width
    return nn.Sequential(
        Focus(3, w), Conv(w, 2 * w, 3, 2), C3(2 * w, 2 * w, 1), Conv(2 * w, 4 * w, 3, 2), C3(4 * w, 4 * w, 2),
        Conv(4 * w, 8 * w, 3, 2), C3(8 * w, 8 * w, 3), Conv(8 * w, 16 * w, 3, 2), C3(16 * w, 16 * w, 1),
        SPPF(16 * w, 16 * w),
    )  # fmt: skip


class LSTMCell(nn.Module):
    """One step of an LSTM by its parts: two products, their sum, the gates."""

    def __init__(self, width: int):
        super().__init__()
        self.input, self.state = nn.Linear(width, 4 * width), nn.Linear(width, 4 * width)

    def forward(self, x, h, c):
        i, f, g, o = (self.input(x) + self.state(h)).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class Recommender(nn.Module):
    """Sums of embeddings of sparse features, dense ones beside them, an MLP on all of it."""

    def __init__(self, tables: int = 8, rows: int = 1_000_000, width: int = 64, dense: int = 13, hidden=(512, 256)):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        sizes, layers = [tables * width + dense, *hidden], []
        for a, b in zip(sizes, sizes[1:]):
            layers += [nn.Linear(a, b), nn.ReLU()]
        self.mlp = nn.Sequential(*layers, nn.Linear(sizes[-1], 1))

    def forward(self, ids, dense):
        parts = [bag(ids[i]) for i, bag in enumerate(self.bags)]
        return torch.sigmoid(self.mlp(torch.cat([*parts, dense], 1)))
