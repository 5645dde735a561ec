"""Five Triton kernels on the twin and by Triton's interpreter: the same files, sizes and tensors.

    TRITON_INTERPRET=1 python -m speed.triton_kernels     prints the interpreter's seconds as JSON

Triton reads the variable when a kernel is decorated, so the interpreter needs a process of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import triton
import triton.language as tl

from speed.timing import seconds


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
def _softmax(x, z, width, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < width
    row = tl.load(x + tl.program_id(0) * width + at, mask=inside, other=-float("inf"))
    e = tl.exp(row - tl.max(row, axis=0))
    tl.store(z + tl.program_id(0) * width + at, e / tl.sum(e, axis=0), mask=inside)


@triton.jit
def _matmul(a, b, c, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    m = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    n = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for k in range(0, K, TILE_K):
        along = k + tl.arange(0, TILE_K)
        left = tl.load(a + m[:, None] * K + along[None, :])
        right = tl.load(b + along[:, None] * N + n[None, :])
        total += tl.dot(left, right)
    tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16))


def cases(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """(name, a call that runs the kernel): the sizes of the feasibility study."""
    import torch

    generator = torch.Generator().manual_seed(0)

    def drawn(*shape, dtype=torch.float32):
        return torch.randn(*shape, generator=generator).to(dtype).to(device)

    n = 1 << 20
    x, y = drawn(n), drawn(n)
    z = torch.empty_like(x)
    for block in (1024, 4096):
        yield f"add, tiles of {block}", lambda block=block: _add[(n // block,)](x, y, z, n, BLOCK=block)
    gate, up = drawn(n, dtype=torch.float16), drawn(n, dtype=torch.float16)
    out = torch.empty_like(gate)
    yield "swiglu", lambda: _swiglu[(n // 1024,)](gate, up, out, n, BLOCK=1024)
    rows = drawn(512, 1000)
    shares = torch.empty_like(rows)
    yield "softmax", lambda: _softmax[(512,)](rows, shares, 1000, BLOCK=1024)
    a, b = drawn(512, 256, dtype=torch.float16), drawn(256, 512, dtype=torch.float16)
    c = drawn(512, 512, dtype=torch.float16)
    yield "matmul", lambda: _matmul[(4, 4)](a, b, c, 512, 256, TILE_M=128, TILE_N=128, TILE_K=64)


def measured(device: str, rounds: int) -> dict[str, float]:
    """Best of `rounds` calls behind a first one, in seconds."""
    found = {}
    for name, call in cases(device):
        call()
        found[name] = min(seconds(call) for _ in range(rounds))
    return found


if __name__ == "__main__":
    print(json.dumps(measured("cpu", rounds=1)))
