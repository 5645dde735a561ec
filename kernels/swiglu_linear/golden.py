"""SwiGLU with its projections: golden numbers, how the host cuts a product, and launches of the fused and the unfused
kernels.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path

import torch

import labkit
from labkit.launch.host_function import host_function

HERE = Path(__file__).parent
CUBES, VECTORS, PIECE = 24, 48, 8192
CTYPE = {torch.float16: "half", torch.bfloat16: "bfloat16_t", torch.float32: "float"}


def golden(x, w_gate, w_up):
    """(y, gate, up) in double."""
    gate, up = x.double() @ w_gate.double().T, x.double() @ w_up.double().T
    return gate * torch.sigmoid(gate) * up, gate, up


def terms(x, w_gate, w_up):
    """For each element of y how large the terms of its sums are, as far as they reach y: what float loses where they
    cancel.
    """
    _, gate, up = golden(x, w_gate, w_up)
    x, w_gate, w_up = (t.double().abs() for t in (x, w_gate, w_up))
    return (1.1 * up.abs()) * (x @ w_gate.T) + (gate * torch.sigmoid(gate)).abs() * (x @ w_up.T)


def golden_slopes(dy, gate, up):
    """(dgate, dup) in double."""
    dy, gate, up = dy.double(), gate.double(), up.double()
    s = torch.sigmoid(gate)
    return dy * up * s * (1 + gate * (1 - s)), dy * gate * s


@lru_cache(maxsize=None)
def kernel(file: str, entry: str, **how):
    return labkit.kernel(HERE / file, entry=entry, **{"timeout": 120, **how})


def cut(
    kernel_,
    shape: tuple[int, int, int],
    product: tuple[int, int, int],
    besides: int = 1,
    size: int = 2,
    cores: int = CUBES,
    **other,
):
    """(blocks, tiling): how ChooseCut of cut.h cuts `product` = (rows, columns, depth of the sum); `other`: fields to
    set otherwise.
    """
    m, h, i = shape
    rows, columns, depth = product
    tiling = kernel_.struct("Tiling", m=m, h=h, i=i, rows=0, cols=0, chunk=0, foldA=1, foldB=1, panel=1)
    _choose()(*(ctypes.c_uint32(v) for v in (rows, columns, depth, besides, size, cores)), ctypes.byref(tiling))
    for name, value in other.items():
        setattr(tiling, name, value)
    return min(cores, -(-rows // tiling.rows) * -(-columns * besides // tiling.cols)), tiling


@lru_cache(maxsize=None)
def _choose():
    return host_function(kernel("swiglu_linear.asc", "swiglu_linear<half, 2, 2>"), "choose_cut")


def forward(x, w_gate, w_up, *, keep=False, buffers=2, slots=2, cores=CUBES, how=None, **tiling):
    """(record, y, gate, up) of the fused launch; gate and up where they are kept."""
    (m, h), i = x.shape, w_gate.shape[0]
    k = kernel("swiglu_linear.asc", f"swiglu_linear<{CTYPE[x.dtype]}, {buffers}, {slots}>", **(how or {}))
    blocks, t = cut(k, (m, h, i), (m, i, h), 2, x.element_size(), cores, **tiling)
    outs = [torch.full((m, i), -1216.0, dtype=x.dtype).npu() for _ in range(3 if keep else 1)]
    ring = torch.empty(blocks * slots * t.rows * t.cols, dtype=torch.float32).npu()
    record = k[blocks](x, w_gate, w_up, *outs, *([None, None] if not keep else []), ring, t)
    return record, *outs, *([None, None] if not keep else [])


def ring_bytes(shape, slots=2) -> int:
    """Of GM that the fused launch needs beside its operands."""
    m, h, i = shape
    blocks, t = cut(kernel("swiglu_linear.asc", "swiglu_linear<half, 2, 2>"), shape, (m, i, h), 2)
    return blocks * slots * t.rows * t.cols * 4


def backward(dy, x, w_gate, w_up, gate, up, *, how=None, cores=CUBES):
    """(records of slopes, dx and dw; dgate, dup, dx, dw_gate, dw_up)."""
    (m, h), i = x.shape, w_gate.shape[0]
    dgate, dup, dx, dw_gate, dw_up = (torch.full_like(t, -1216.0) for t in (gate, up, x, w_gate, w_up))
    name = CTYPE[x.dtype]
    slopes, to_x, to_w = (
        kernel("swiglu_linear_grad.asc", f"swiglu_{part}<{name}>", **(how or {})) for part in ("slopes", "dx", "dw")
    )
    records = [slopes[min(VECTORS, -(-m * i // PIECE))](dy, gate, up, dgate, dup, m * i)]
    blocks, t = cut(to_x, (m, h, i), (m, h, i), 1, x.element_size(), cores)
    records.append(to_x[blocks](dgate, dup, w_gate, w_up, dx, t))
    blocks, t = cut(to_w, (m, h, i), (i, h, m), 1, x.element_size(), cores // 2)
    records.append(to_w[2 * blocks](dgate, dup, x, dw_gate, dw_up, t))
    return records, dgate, dup, dx, dw_gate, dw_up


def unfused(x, w_gate, w_up, *, how=None):
    """(records of the two products, silu and times; y): four launches."""
    (m, h), i = x.shape, w_gate.shape[0]
    linear, silu, times = (
        kernel("unfused.asc", f"{part}<{CTYPE[x.dtype]}>", **(how or {})) for part in ("linear", "silu", "times")
    )
    gate, up, s, y = (torch.empty(m, i, dtype=x.dtype).npu() for _ in range(4))
    blocks, t = cut(linear, (m, h, i), (m, i, h), 1, x.element_size())
    vectors = min(VECTORS, -(-m * i // PIECE))
    return [
        linear[blocks](x, w_gate, gate, t),
        linear[blocks](x, w_up, up, t),
        silu[vectors](gate, s, m * i),
        times[vectors](s, up, y, m * i),
    ], y


def naive(x, w_gate, w_up, *, how=None, cores=CUBES):
    """(record, y) of the launch with the Matmul object; half only."""
    (m, h), i = x.shape, w_gate.shape[0]
    k = kernel("swiglu_linear_naive.asc", "swiglu_naive", **(how or {}))
    words = (ctypes.c_int32 * 50)()
    assert host_function(k, "make_tiling")(m, i, h, words) == 0
    y = torch.full((m, i), -1216.0, dtype=x.dtype).npu()
    products, workspace = (
        torch.empty(2 * m * i, dtype=torch.float32).npu(),
        torch.zeros(1 << 24, dtype=torch.uint8).npu(),
    )
    blocks = min(cores, -(-(-(-m // 128) * -(-i // 256)) // 2))
    return k[blocks](x, w_gate, w_up, y, products, workspace, words), y
