"""act(x W^T + bias + residual): in double; launches of the kernels by themselves."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path

import torch

import labkit
from labkit.launch.host_function import host_function

HERE = Path(__file__).parent
CUBES, VECTORS, SLOTS = 24, 48, 2
CTYPE = {torch.float16: "half", torch.bfloat16: "bfloat16_t", torch.float32: "float"}
ACT_NAMES = ("none", "relu", "gelu", "silu", "sigmoid", "tanh")
ACTS = {
    "none": lambda z: z,
    "relu": torch.relu,
    "gelu": lambda z: torch.nn.functional.gelu(z, approximate="tanh"),
    "silu": torch.nn.functional.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


def linear_act(x, w, bias=None, residual=None, act="none"):
    """The result in double, not rounded."""
    z = x.double() @ w.double().T
    z = z + (0 if bias is None else bias.double()) + (0 if residual is None else residual.double())
    return ACTS[act](z)


def terms(x, w, bias=None, residual=None):
    """For each element how large the terms of its sum are: what float loses where they cancel."""
    size = x.double().abs() @ w.double().abs().T
    return size + (0 if bias is None else bias.double().abs()) + (0 if residual is None else residual.double().abs())


@lru_cache(maxsize=None)
def kernel(entry: str, **how):
    return labkit.kernel(HERE / "linear_act.asc", entry=entry, **{"timeout": 120, **how})


@lru_cache(maxsize=None)
def _choose():
    return host_function(kernel("linear_act<half>"), "choose_cut")


def cut(kern, m, h, i, size=2, cores=CUBES, **other):
    """(blocks, tiling): how ChooseCut of swiglu_linear/cut.h cuts the product. other: fields set otherwise."""
    t = kern.struct("Tiling", m=m, h=h, i=i, rows=0, cols=0, chunk=0, foldA=1, foldB=1, panel=1)
    _choose()(*(ctypes.c_uint32(v) for v in (m, i, h, 1, size, cores)), ctypes.byref(t))
    for name, value in other.items():
        setattr(t, name, value)
    return min(cores, -(-m // t.rows) * -(-i // t.cols)), t


def _empty(x, w):
    return torch.full((x.shape[0], w.shape[0]), -1216.0, dtype=x.dtype).npu()


def fused(x, w, bias=None, residual=None, act="none", made=None, cores=CUBES, how=None, **tiling):
    """(record, y) of the one mixed launch, on the device's tensors."""
    kern, y = made or kernel(f"linear_act<{CTYPE[x.dtype]}>", **(how or {})), _empty(x, w)
    blocks, t = cut(kern, *x.shape, w.shape[0], x.element_size(), cores, **tiling)
    ring = torch.empty(blocks * SLOTS * t.rows * t.cols, dtype=torch.float32).npu()
    return kern[blocks](x, w, bias, residual, y, ring, t, list(ACTS).index(act)), y


def product(x, w, act="none", made=None, cores=CUBES, how=None):
    """(record, y) of the cube's launch: act none or relu, no bias."""
    kern, y = made or kernel(f"linear_relu<{CTYPE[x.dtype]}>", **(how or {})), _empty(x, w)
    blocks, t = cut(kern, *x.shape, w.shape[0], x.element_size(), cores)
    return kern[blocks](x, w, y, t, list(ACTS).index(act)), y


def finish(z, bias=None, residual=None, act="none", made=None, how=None):
    """(record, y): act(z + bias + residual) on the vector cores."""
    kern, y, (m, i) = made or kernel(f"finish<{CTYPE[z.dtype]}>", **(how or {})), torch.empty_like(z), z.shape
    cols = min(256, -(-i // 16) * 16)
    across = -(-i // cols)
    rows = -(-m // min(m, max(1, VECTORS // across)))
    t = kern.struct("Tiling", m=m, h=0, i=i, rows=rows, cols=cols, chunk=0, foldA=1, foldB=1, panel=1)
    return kern[min(VECTORS, across * -(-m // t.rows))](z, bias, residual, y, t, list(ACTS).index(act)), y


def chain(x, w, bias=None, residual=None, act="none", how=None):
    """([records], y): a launch for the product and one for the rest, none where there is no rest."""
    record, z = product(x, w, "relu" if act == "relu" and bias is None and residual is None else "none", how=how)
    if bias is None and residual is None and act in ("none", "relu"):
        return [record], z
    last, y = finish(z, bias, residual, act, how=how)
    return [record, last], y
