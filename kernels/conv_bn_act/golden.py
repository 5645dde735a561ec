"""Convolution, batch norm and an activation in double; the cases that tests draw; how the kernels are launched."""

from __future__ import annotations

import ctypes
import random
from functools import lru_cache
from pathlib import Path

import torch
from torch.nn.functional import conv2d

import labkit
from labkit.launch.host_function import host_function
from labkit.operators.conv_bn_act.module import layout, pack, pack_bias

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


def launch(x, weight, bias, stride=(1, 1), padding=(0, 0), activation="none", last=True, text=None, how=None, **other):
    """(record, y) of one launch; x [N, C, H, W] on the CPU, bias float32."""
    name = "conv_bn_silu" if activation == "silu" else "conv_bn_act"
    entry = f"{name}<{CTYPE[x.dtype]}>"
    if text is None:
        k = kernel(entry, **(how or {}))
    else:
        k = labkit.kernel(text=text, filename=str(HERE / "conv_bn_act.asc"), entry=entry, timeout=60)
    c = conv(k, x.shape, weight.shape[0], weight.shape[2:], stride, padding, last, activation == "relu", **other)
    form = layout(x.shape, weight.shape[2:], stride, padding, last)
    shape = x.shape[0], c.outChannels, c.outHeight, c.outWidth
    order = (0, 2, 3, 1) if last else (0, 1, 2, 3)
    y = torch.full([shape[d] for d in order], -1216.0, dtype=x.dtype).npu()
    given = x.permute(order).contiguous().npu()
    record = k[min(CUBES, units(c))](given, pack(weight, form).npu(), pack_bias(bias).npu(), y, c)
    return record, y.cpu().permute(0, 3, 1, 2) if last else y.cpu()
