"""The same three operators for Triton's interpreter, on few elements: it is slow and its cost is per element."""

from __future__ import annotations

import triton
import triton.language as tl

from speed.timing import seconds

_BLOCK = 1024


@triton.jit
def _add(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(z + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def _swiglu(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    g = tl.load(x + at, mask=inside).to(tl.float32)
    u = tl.load(y + at, mask=inside).to(tl.float32)
    tl.store(z + at, (g / (1 + tl.exp(-g)) * u).to(tl.float16), mask=inside)


@triton.jit
def _softmax(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(x + at)
    e = tl.exp(row - tl.max(row, axis=0))
    tl.store(z + at, e / tl.sum(e, axis=0))


def seconds_per_element(name: str, blocks: int = 64) -> float:
    """Best of three runs over `blocks` blocks of 1024 elements."""
    import torch

    n = blocks * _BLOCK
    dtype = torch.float32 if name == "softmax" else torch.float16
    x, y = torch.randn(n).to(dtype), torch.randn(n).to(dtype)
    z = torch.empty_like(x)
    kernel = {"add": _add, "swiglu": _swiglu, "softmax": _softmax}[name]
    return min(seconds(lambda: kernel[(blocks,)](x, y, z, n, BLOCK=_BLOCK)) for _ in range(3)) / n
