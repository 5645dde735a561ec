import triton
import triton.language as tl


@triton.jit
def layer_norm(x, w, b, y, rows, width: tl.constexpr, HIGH: tl.constexpr, BLOCK: tl.constexpr):
    r = (tl.program_id(0) * HIGH + tl.arange(0, HIGH))[:, None]
    c = tl.arange(0, BLOCK)[None, :]
    inside = (c < width) & (r < rows)
    v = tl.load(x + r * width + c, mask=inside, other=0.0)
    # >>> exercise: `d`, the differences from each row's mean, and `scale`, 1 / sqrt(mean of d * d + 1e-5), [HIGH, 1]; only lanes inside count in a sum | 每行与其均值之差 `d`，以及形状为 [HIGH, 1] 的 `scale`，即 1 / sqrt(d * d 的均值 + 1e-5)；求和时只有 inside 的 lane 算数
    # stub: d, scale = v, tl.zeros((HIGH, 1), tl.float32)
    mean = tl.sum(tl.where(inside, v, 0.0), axis=1)[:, None] / width
    d = v - mean
    scale = tl.rsqrt(tl.sum(tl.where(inside, d * d, 0.0), axis=1)[:, None] / width + 1e-5)
    # <<<
    weight, bias = tl.load(w + c, mask=c < width), tl.load(b + c, mask=c < width)
    tl.store(y + r * width + c, d * scale * weight + bias, mask=inside)
