"""act(x W^T + bias) in Triton, beside linear_act.asc: the product on the cube core, bias and activation on the vector
cores, in one launch."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def linear_act(x, w, bias, y, M, N, K, ACT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    across = tl.cdiv(N, BN)
    row, column = tl.program_id(0) // across * BM, tl.program_id(0) % across * BN
    m, n, k = row + tl.arange(0, BM), column + tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for at in range(0, K, BK):
        left = tl.load(x + m[:, None] * K + (at + k)[None, :], mask=(m < M)[:, None] & (at + k < K)[None, :], other=0.0)
        right = tl.load(
            w + n[None, :] * K + (at + k)[:, None], mask=(at + k < K)[:, None] & (n < N)[None, :], other=0.0
        )
        total = tl.dot(left, right, total)
    if ACT != "none":
        total += tl.load(bias + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    if ACT == "relu":
        total = tl.maximum(total, 0.0)
    if ACT == "silu":
        total = total / (1 + tl.exp(-total))
    inside = (m < M)[:, None] & (n < N)[None, :]
    tl.store(y + m[:, None] * N + n[None, :], total.to(y.dtype.element_ty), mask=inside)


def launch(x, w, bias=None, act: str = "none", blocks: tuple[int, int, int] = (128, 256, 128)):
    """act(x w^T + bias) of npu tensors x [M, K] and w [N, K]; act: none (the bias is left out), bias, relu or silu."""
    (m, k), n = x.shape, w.shape[0]
    y = x.new_empty((m, n))
    bm, bn, bk = blocks
    grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn),)
    linear_act[grid](x, w, x if bias is None else bias, y, m, n, k, ACT=act, BM=bm, BN=bn, BK=bk)
    return y
