import triton
import triton.language as tl


@triton.jit
def layer_norm(x, w, b, y, rows, width, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < width
    # >>> exercise: the rows shared by all 48 programs, so that none has more than ceil(rows / 48), however many rows there are; each program loads w and b at most once | 把行分给 48 个 program，不论行数多少，每个至多 ceil(rows / 48) 行；每个 program 至多加载一次 w 和 b
    # stub: for row in range(tl.program_id(0) * 64, min(tl.program_id(0) * 64 + 64, rows)):
    # stub:     v = tl.load(x + row * width + at, mask=inside, other=0.0)
    # stub:     mean = tl.sum(v, axis=0) / width
    # stub:     d = tl.where(inside, v - mean, 0.0)
    # stub:     scale = tl.rsqrt(tl.sum(d * d, axis=0) / width + 1e-5)
    # stub:     weight, bias = tl.load(w + at, mask=inside), tl.load(b + at, mask=inside)
    # stub:     tl.store(y + row * width + at, d * scale * weight + bias, mask=inside)
    weight, bias = tl.load(w + at, mask=inside), tl.load(b + at, mask=inside)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        v = tl.load(x + row * width + at, mask=inside, other=0.0)
        mean = tl.sum(v, axis=0) / width
        d = tl.where(inside, v - mean, 0.0)
        scale = tl.rsqrt(tl.sum(d * d, axis=0) / width + 1e-5)
        tl.store(y + row * width + at, d * scale * weight + bias, mask=inside)
    # <<<
