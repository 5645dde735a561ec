"""Convolution, batch norm and an activation in double; the cases that tests draw; how the kernels are launched."""

from __future__ import annotations

import ctypes
import random
from functools import lru_cache
from pathlib import Path

import torch
from labkit.operators.conv_bn_act.module import layout, pack, pack_bias
from torch.nn.functional import conv2d

import labkit
from labkit.launch.host_function import host_function

HERE = Path(__file__).parent
CUBES = 24  # cores of the chip
CTYPE = {torch.float16: "half", torch.bfloat16: "bfloat16_t"}
ACTIVATIONS = ("none", "relu", "silu")


def activated(z, activation: str):
    return {"none": lambda: z, "relu": lambda: z.clamp(min=0), "silu": lambda: z * torch.sigmoid(z)}[activation]()


def forward(x, weight, bias, stride=(1, 1), padding=(0, 0), activation="none"):
    """y in double: x [N, C, H, W], weight [out, C, kh, kw] and bias [out], with the batch norm in them."""
    return activated(conv2d(x.double(), weight.double(), bias.double(), stride, padding), activation)


def terms(x, weight, bias, stride=(1, 1), padding=(0, 0)):
    """How large the terms are that each element of y adds up."""
    return conv2d(x.double().abs(), weight.double().abs(), bias.double().abs(), stride, padding)


def out_size(size: int, kernel: int, stride: int, padding: int) -> int:
    return (size + 2 * padding - kernel) // stride + 1


def conv(kernel_, x, out: int, kernel, stride=(1, 1), padding=(0, 0), last=True, relu=False, cores=CUBES, **other):
    """The kernels' Conv, as it is cut; last: x and y are channels_last; `other`: fields to set otherwise. None where it
    does not fit L1."""
    n, c, h, w = x
    outs = [out_size(*sides) for sides in zip((h, w), kernel, stride, padding)]
    made = kernel_.struct(
        "Conv",
        **{"batch": n, "channels": c, "height": h, "width": w, "outChannels": out, "outHeight": outs[0]},
        **{"outWidth": outs[1], "kernelH": kernel[0], "kernelW": kernel[1], "strideH": stride[0]},
        **{"strideW": stride[1], "padH": padding[0], "padW": padding[1], "relu": int(relu)},
        **{"turnX": int(not last), "turnY": int(not last)},
        **dict.fromkeys(("pixel", "line", "picture", "foldH", "foldStride", "foldPad", "foldHeight"), 0),
        **dict.fromkeys(("rows", "cols", "tile", "group", "high", "sums"), 0),
    )
    if not _choose()(ctypes.byref(made), ctypes.c_uint32(cores)):
        return None
    for name, value in other.items():
        setattr(made, name, value)
    return made


def units(c) -> int:
    return -(-c.outHeight * c.outWidth // c.rows) * c.batch * -(-c.outChannels // c.cols)


@lru_cache(maxsize=None)
def kernel(entry: str, file: str = "conv_bn_act.asc", **how):
    return labkit.kernel(HERE / file, entry=entry, **{"timeout": 300, **how})


@lru_cache(maxsize=None)
def _choose():
    return host_function(kernel("conv_bn_act<half>"), "choose_cut")


def launch(
    x,
    weight,
    bias,
    stride=(1, 1),
    padding=(0, 0),
    activation="none",
    last=True,
    text=None,
    blocks=CUBES,
    how=None,
    **other,
):
    """(record, y) of one launch; x [N, C, H, W] on the CPU, bias in float. text: stands in for what the kernel's file
    holds; other: fields of the cut, that may be made smaller."""
    entry = f"{'conv_bn_silu' if activation == 'silu' else 'conv_bn_act'}<{CTYPE[x.dtype]}>"
    if text is None:
        k = kernel(entry, **(how or {}))
    else:
        k = labkit.kernel(text=text, filename=str(HERE / "conv_bn_act.asc"), entry=entry, timeout=5, **(how or {}))
    c = conv(k, x.shape, weight.shape[0], weight.shape[2:], stride, padding, last, activation == "relu", **other)
    form = layout(x.shape, weight.shape[2:], stride, padding, last)
    order = (0, 2, 3, 1) if last else (0, 1, 2, 3)
    shape = x.shape[0], c.outChannels, c.outHeight, c.outWidth
    y = torch.full([shape[d] for d in order], -1216.0, dtype=x.dtype).npu()
    args = x.permute(order).contiguous().npu(), pack(weight, form).npu(), pack_bias(bias).npu()
    record = k[min(blocks, units(c))](*args, y, c)
    return record, y.cpu().permute(0, 3, 1, 2) if last else y.cpu()


def draw(seed: int, count: int) -> list[dict]:
    """Cases by a stated rule: case i comes from random.Random(f"{seed} {i}"). A third has channels at the edges of
    blocks of 16, a third few channels; kernels are 1 x 1, 3 x 3, 6 x 6, 7 x 7 or any up to 5 x 5, also of two sides;
    strides 1 to 3, any padding that is less than the kernel; each type, format and activation alike often. Every second
    case is cut into smaller units, tiles and chunks than conv.h would, on one to three cores. The work is bounded."""
    return [_drawn(random.Random(f"{seed} {i}")) for i in range(count)]


def _drawn(r: random.Random) -> dict:
    while True:
        edges, few = [15, 16, 17, 31, 32, 33, 48], [1, 2, 3, 4, 5, 12]
        c = r.choice([edges, few, [r.randint(1, 100)]][r.randrange(3)])
        out = r.choice([1, 8, 16, 17, 40, 64, 130, r.randint(1, 80)])
        n, h, w = r.choice([1, 1, 2, 3]), r.randint(1, 24), r.choice([r.randint(1, 24), r.randint(1, 24), 65, 130])
        kernel = r.choice([(1, 1), (3, 3), (3, 3), (6, 6), (7, 7), (r.randint(1, 5), r.randint(1, 5))])
        stride = r.choice([(1, 1), (1, 1), (2, 2), (r.randint(1, 3), r.randint(1, 3))])
        padding = r.choice([tuple(k // 2 for k in kernel), (0, 0), tuple(r.randrange(k) for k in kernel)])
        outs = [out_size(*sides) for sides in zip((h, w), kernel, stride, padding)]
        if min(outs) >= 1 and n * c * out * outs[0] * outs[1] * kernel[0] * kernel[1] <= 4_000_000:
            break
    return {
        **{"x": (n, c, h, w), "out": out, "kernel": kernel, "stride": stride, "padding": padding},
        **{"activation": r.choice(ACTIVATIONS), "last": r.random() < 0.5, "dtype": r.choice(list(CTYPE))},
        "cut": r.choice([None, {"rows": r.randint(1, 6), "cols": r.randint(1, 4), "group": r.randint(1, 3)}]),
        "blocks": r.randint(1, 3),
    }


def smaller(c, rows: int, cols: int, group: int) -> dict:
    """Fields of a cut that is no larger than c: units of rows x 16 positions and cols x 16 channels, made in tiles of
    at most half, chunks of group x 16 channels."""
    rows, cols, group = min(16 * rows, c.rows), min(16 * cols, c.cols), min(group, c.group)
    whole = group * 16 >= c.channels  # a unit in several chunks is one tile
    tile = min(max(16, rows // 32 * 16) if whole else -(-rows // 16) * 16, c.tile)
    rows = rows if whole else min(rows, tile)
    span = min((rows + c.outWidth - 2) // c.outWidth + 1, c.outHeight)
    high = min((span - 1) * c.strideH + c.kernelH, c.height)
    return {"rows": rows, "cols": cols, "group": group, "tile": tile, "high": high}
