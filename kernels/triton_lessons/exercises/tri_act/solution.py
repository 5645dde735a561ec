import triton
import triton.language as tl


@triton.jit
def linear_silu(a, b, bias, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for at in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + (at + k)[None, :], mask=(m < M)[:, None] & (at + k < K)[None, :], other=0.0)
        right = tl.load(b + (at + k)[:, None] * N + n[None, :], mask=(at + k < K)[:, None] & (n < N)[None, :], other=0.0)
        total = tl.dot(left, right, total)
    inside = (m < M)[:, None] & (n < N)[None, :]
    # >>> exercise: c = silu(total + bias), in float until it is stored as fp16; bias has an fp16 number for each column, silu(z) = z / (1 + exp(-z)) | c = silu(total + bias)，写出之前都用 float，写出时才转为 fp16；bias 每列一个 fp16 数，silu(z) = z / (1 + exp(-z))
    # stub: tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16), mask=inside)
    total += tl.load(bias + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    total = total / (1 + tl.exp(-total))
    tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16), mask=inside)
    # <<<
