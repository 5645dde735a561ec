import triton
import triton.language as tl


@triton.jit
def lower(x, y, n, HIGH: tl.constexpr, WIDE: tl.constexpr):
    r, c = tl.program_id(0) * HIGH + tl.arange(0, HIGH), tl.arange(0, WIDE)
    inside = (r < n)[:, None] & (c < n)[None, :]
    at = r[:, None] * n + c[None, :]
    # >>> exercise: y = x where column <= row, else 0, for rows r of the n x n matrix; no access element by element | 对 n x n 矩阵的行 r：列 <= 行 时 y = x，否则为 0；不能逐元素访问
    # stub: tl.store(y + at, tl.load(x + at, mask=inside, other=0.0), mask=inside)
    v = tl.load(x + at, mask=inside, other=0.0)
    tl.store(y + at, tl.where(c[None, :] <= r[:, None], v, 0.0), mask=inside)
    # <<<
