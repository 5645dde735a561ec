"""Triton kernels that the tests launch, in the shapes in which people write them."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(z + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(y, x, stride_x, stride_y, rows, columns, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        at = tl.arange(0, BLOCK)
        v = tl.load(x + row * stride_x + at, mask=at < columns, other=-float("inf"))
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(y + row * stride_y + at, e / tl.sum(e, axis=0), mask=at < columns)


@triton.jit
def masked_rows(x, w, y, rows, REST: tl.constexpr, WIDTH: tl.constexpr, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr):
    """As Inductor writes a reduction: whole rows in one tile, what does not count is masked off everywhere."""
    at_x = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    at_r = tl.arange(0, RBLOCK)[None, :]
    on_x, on_r = at_x < rows, at_r < WIDTH
    a = tl.load(x + at_r + WIDTH * at_x, on_r & on_x, other=0.0)
    b = tl.load(w + at_r, on_r, other=0.0)
    most = tl.max(tl.where(on_r & on_x, a, float("-inf")), 1)[:, None]
    e = tl.exp(a - most)
    total = tl.sum(tl.where(on_r & on_x, e, 0.0), 1)[:, None]
    extra = tl.sum(tl.where(on_r & on_x, e, 1.0), 1)[:, None] if REST else total
    c = (e / total * b) * (1.0 + libdevice.tanh(a)) + extra
    tl.store(y + at_r + WIDTH * at_x, c, on_r & on_x)


def run_masked_rows(rows: int, width: int, tall: int, rest: int, programs: int = 0) -> float:
    """The largest error in units of 1e-5 of the numbers; what lies behind the rows must stay as it was."""
    generator = torch.Generator().manual_seed(rows + width)
    x = torch.randint(-40, 1, (rows, width), generator=generator) / 8 - 3
    w = torch.randint(-8, 9, (width,), generator=generator) * 16.0
    y = torch.full((rows + 3, width), 77.0).npu()
    block = triton.next_power_of_2(width)
    grid = programs or triton.cdiv(rows, tall)
    masked_rows[(grid,)](x.npu(), w.npu(), y, rows, rest, width, XBLOCK=tall, RBLOCK=block)
    e = (x - x.amax(1, keepdim=True)).exp()
    total = e.sum(1, keepdim=True)
    want = e / total * w * (1 + x.tanh()) + total + (block - width if rest else 0)
    if not (y[rows:] == 77).all():
        return float("inf")
    return float(((y[:rows].cpu() - want) / want.abs().clamp(min=1)).abs().max()) / 1e-5


TANGENTS = {
    "GELU": lambda y, u: 0.5 * y * (1 + torch.tanh(1.75 * u)),
    "of its own number": lambda y, u: 0.5 * y * (1 + torch.tanh(1.75 * y)),
    "not halved": lambda y, u: y * (1 + torch.tanh(u)),
    "another factor": lambda y, u: 3 * y * (1 + torch.tanh(-0.5 * u)),
    "1 + tanh alone": lambda y, u: 1 + torch.tanh(1.75 * u) + y,
    "the sum twice": lambda y, u: y * (1 + torch.tanh(u)) + (1 + torch.tanh(u)),
    "the tangent twice": lambda y, u: 0.5 * y * (1 + torch.tanh(u)) + torch.tanh(u),
    "half of it twice": lambda y, u: 0.5 * y * (1 + torch.tanh(u)) + 0.5 * y,
    "the argument twice": lambda y, u: 0.5 * y * (1 + torch.tanh(1.75 * u)) + 1.75 * u,
    "a number and a tile": lambda y, u: 2.5 * (1 + torch.tanh(u)) + y,
    "a row": lambda y, u: 0.5 * y * (1 + torch.tanh(1.75 * u[:1])),
    "a sigmoid's product": lambda y, u: y * torch.sigmoid(u),
    "a sigmoid alone": lambda y, u: torch.sigmoid(u) + y,
    "a sigmoid twice": lambda y, u: y * torch.sigmoid(u) + torch.sigmoid(u),
    "the square of one": lambda y, u: torch.sigmoid(u) ** 2 + y,
    "two sigmoids": lambda y, u: torch.sigmoid(y) * torch.sigmoid(u),
    "a number and a sigmoid": lambda y, u: 2.5 * torch.sigmoid(u) + y,
    "a sigmoid and GELU": lambda y, u: torch.sigmoid(y) * (1 + torch.tanh(u)),
    "a row's sigmoid": lambda y, u: y * torch.sigmoid(u[:1]),
    "two of them": lambda y, u: (1 + torch.tanh(y)) * (1 + torch.tanh(1.75 * u)),
    "half a row": lambda y, u: 0.5 * y[:1] * (1 + torch.tanh(1.75 * u)),
}


@triton.jit
def tangents(y, u, z, WAY: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """One of TANGENTS, by its name."""
    at_row, at_column = tl.arange(0, ROWS)[:, None], tl.arange(0, WIDTH)[None, :]
    a = tl.load(y + (0 * at_row if WAY == "half a row" else at_row) * WIDTH + at_column)
    b = tl.load(u + (0 * at_row if WAY == "a row" or WAY == "a row's sigmoid" else at_row) * WIDTH + at_column)
    if WAY == "GELU" or WAY == "a row" or WAY == "half a row":
        c = a * 0.5 * (1.0 + libdevice.tanh(b * 1.75))
    elif WAY == "of its own number":
        c = (libdevice.tanh(1.75 * a) + 1.0) * (0.5 * a)
    elif WAY == "not halved":
        c = a * (1.0 + libdevice.tanh(b))
    elif WAY == "another factor":
        c = a * 3.0 * (1.0 + libdevice.tanh(-0.5 * b))
    elif WAY == "1 + tanh alone":
        c = 1.0 + libdevice.tanh(1.75 * b) + a
    elif WAY == "the sum twice":
        total = 1.0 + libdevice.tanh(b)
        c = a * total + total
    elif WAY == "the tangent twice":
        t = libdevice.tanh(b)
        c = a * 0.5 * (1.0 + t) + t
    elif WAY == "half of it twice":
        half = a * 0.5
        c = half * (1.0 + libdevice.tanh(b)) + half
    elif WAY == "the argument twice":
        scaled = b * 1.75
        c = a * 0.5 * (1.0 + libdevice.tanh(scaled)) + scaled
    elif WAY == "a number and a tile":
        c = 2.5 * (1.0 + libdevice.tanh(b)) + a
    elif WAY == "a sigmoid's product" or WAY == "a row's sigmoid":
        c = a * tl.sigmoid(b)
    elif WAY == "a sigmoid alone":
        c = tl.sigmoid(b) + a
    elif WAY == "a sigmoid twice":
        s = tl.sigmoid(b)
        c = a * s + s
    elif WAY == "the square of one":
        s = tl.sigmoid(b)
        c = s * s + a
    elif WAY == "two sigmoids":
        c = tl.sigmoid(a) * tl.sigmoid(b)
    elif WAY == "two of them":
        c = (1.0 + libdevice.tanh(a)) * (1.0 + libdevice.tanh(1.75 * b))
    elif WAY == "a number and a sigmoid":
        c = 2.5 * tl.sigmoid(b) + a
    else:
        c = tl.sigmoid(a) * (1.0 + libdevice.tanh(b))
    tl.store(z + at_row * WIDTH + at_column, c)


def run_tangents(way: str) -> tuple[float, str]:
    """The largest error in units of 1e-6 of the numbers, or of 1; what the kernel became."""
    rows, width = 4, 128
    generator = torch.Generator().manual_seed(len(way))
    y, u = (torch.randint(-60, 61, (rows, width), generator=generator) / 16 for _ in range(2))
    z = torch.zeros(rows, width).npu()
    made = tangents[(1,)](y.npu(), u.npu(), z, way, ROWS=rows, WIDTH=width)
    want = TANGENTS[way](y.double(), u.double())
    error = float(((z.cpu() - want).abs() / want.abs().clamp(min=1)).max()) / 1e-6
    return error, made.asm["asc"].decode()


@triton.jit
def layer_norm(X, Y, W, B, Mean, Rstd, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        at = off + tl.arange(0, BLOCK)
        total += tl.load(X + row * stride + at, mask=at < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        at = off + tl.arange(0, BLOCK)
        x = tl.load(X + row * stride + at, mask=at < N, other=0.0).to(tl.float32)
        x = tl.where(at < N, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / N + eps)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rstd)
    for off in range(0, N, BLOCK):
        at = off + tl.arange(0, BLOCK)
        inside = at < N
        w, b = tl.load(W + at, mask=inside), tl.load(B + at, mask=inside)
        x = tl.load(X + row * stride + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(Y + row * stride + at, (x - mean) * rstd * w + b, mask=inside)


@triton.jit
def rows_gathered(table, index, out, width, BLOCK: tl.constexpr):
    row = tl.load(index + tl.program_id(0))
    at = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * width + at, tl.load(table + row * width + at, mask=at < width), mask=at < width)


@triton.jit
def one_address(x, rest, y, n, TILE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if TILE:
        got = tl.load(x + at * 0, mask=(at * 0 + n) > 0, other=tl.load(rest + at))
    else:
        got = tl.load(x + at * 0, mask=at < n, other=7.0)
    tl.store(y + at, got)


@triton.jit
def lanes_gathered(x, index, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    where = tl.load(index + at, mask=at < n, other=0)
    tl.store(out + at, tl.load(x + where, mask=at < n, other=0.0), mask=at < n)


@triton.jit
def turned(x, y, rows, columns, HIGH: tl.constexpr, WIDE: tl.constexpr):
    r, c = tl.arange(0, HIGH), tl.arange(0, WIDE)
    inside = (r < rows)[:, None] & (c < columns)[None, :]
    v = tl.load(x + r[:, None] * columns + c[None, :], mask=inside)
    tl.store(y + c[None, :] * rows + r[:, None], v, mask=inside)


@triton.jit
def causal(x, y, n, BLOCK: tl.constexpr):
    r, c = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    inside = (r < n)[:, None] & (c < n)[None, :]
    v = tl.load(x + r[:, None] * n + c[None, :], mask=inside, other=0.0)
    v = tl.where(r[:, None] >= c[None, :], v, -1.0)
    tl.store(y + r[:, None] * n + c[None, :], v, mask=inside)


@triton.jit
def swapped(x, y, n, times, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a, b = tl.load(x + at, mask=at < n, other=0.0), tl.load(y + at, mask=at < n, other=0.0)
    for i in range(times):
        if i % 2 == 0:
            a, b = b, a + b
        else:
            a, b = b + 1.0, a
    tl.store(x + at, a, mask=at < n)
    tl.store(y + at, b, mask=at < n)


@triton.jit
def whole_numbers(x, y, total, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    v = tl.where(v > 3, v * 2 - 1, v + 100)
    tl.store(y + at, tl.minimum(v, 150), mask=at < n)
    tl.store(total, tl.sum(tl.where(at < n, v, 0), axis=0))


@triton.jit
def block_pointers(x, y, rows, columns, HIGH: tl.constexpr, WIDE: tl.constexpr):
    shape, strides = (rows, columns), (columns, 1)
    at = (tl.program_id(0) * HIGH, 0)
    source = tl.make_block_ptr(x, shape, strides, at, (HIGH, WIDE), (1, 0))
    to = tl.make_block_ptr(y, shape, strides, at, (HIGH, WIDE), (1, 0))
    for _ in range(0, columns, WIDE):
        tl.store(to, tl.load(source, boundary_check=(0, 1)) * 2.0, boundary_check=(0, 1))
        source, to = tl.advance(source, (0, WIDE)), tl.advance(to, (0, WIDE))


@triton.jit
def addresses(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, (x + at).to(tl.int64).to(tl.float32))


@triton.jit
def too_large(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.exp(tl.load(x + at)))


@triton.jit
def beyond_the_end(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.store(y + at, v)


@triton.jit
def matmul(
    a,
    b,
    c,
    M,
    N,
    K,
    am,
    ak,
    bk,
    bn,
    cm,
    cn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
    ACT: tl.constexpr,
):
    pid = tl.program_id(0)
    across, down = tl.cdiv(N, BN), tl.cdiv(M, BM)
    group = pid // (GROUP * across)
    first = group * GROUP
    high = min(down - first, GROUP)
    row = first + (pid % (GROUP * across)) % high
    column = (pid % (GROUP * across)) // high
    rm, rn, rk = (row * BM + tl.arange(0, BM)) % M, (column * BN + tl.arange(0, BN)) % N, tl.arange(0, BK)
    pa, pb = a + rm[:, None] * am + rk[None, :] * ak, b + rk[:, None] * bk + rn[None, :] * bn
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = tl.load(pa, mask=rk[None, :] < K - k * BK, other=0.0)
        right = tl.load(pb, mask=rk[:, None] < K - k * BK, other=0.0)
        total = tl.dot(left, right, total)
        pa += BK * ak
        pb += BK * bk
    if ACT == "leaky_relu":
        total = tl.where(total >= 0, total, 0.01 * total)
    if ACT == "bias":
        total += (row * BM + tl.arange(0, BM))[:, None] * 0.5
    out = total.to(c.dtype.element_ty)
    om, on = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN)
    tl.store(c + cm * om[:, None] + cn * on[None, :], out, mask=(om[:, None] < M) & (on[None, :] < N))


UNIT = {torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def multiply(m, n, k, blocks, kind, out, turned, act):
    """(the compiled kernel, the largest error in units of the result's type) of a product against PyTorch's."""
    generator = torch.Generator().manual_seed(m + n + k)
    a, b = (torch.randint(-8, 9, shape, generator=generator) / 8 for shape in ((m, k), (k, n)))
    x = a.t().contiguous().to(kind).npu().t() if "a" in turned else a.to(kind).npu()
    y = b.t().contiguous().to(kind).npu().t() if "b" in turned else b.to(kind).npu()
    c = torch.zeros(m, n, dtype=out).npu()
    bm, bn, bk = blocks
    grid = (-(-m // bm) * -(-n // bn),)
    made = matmul[grid](
        x, y, c, m, n, k, *x.stride(), *y.stride(), *c.stride(), BM=bm, BN=bn, BK=bk, GROUP=4, ACT=act
    )  # fmt: skip
    want = a @ b
    if act == "leaky_relu":
        want = torch.where(want >= 0, want, 0.01 * want)
    if act == "bias":
        want += torch.arange(m)[:, None] * 0.5
    return made, ((c.cpu().float() - want).abs() / want.abs().clamp(min=1)).max().item() / UNIT[out]


@triton.jit
def wrapped(A, B, OUT, M, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """All rows and columns of the tiles are stored: those behind the end are the first ones again."""
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    a = tl.load(A + (rm % M)[:, None] * BK + rk[None, :])
    b = tl.load(B + rk[:, None] * N + (rn % N)[None, :])
    tl.store(OUT + rm[:, None] * BN + rn[None, :], tl.dot(a, b))
