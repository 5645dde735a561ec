"""Depthwise convolution in double, rounded once; the cases that tests draw, and how the kernels are launched."""

from __future__ import annotations

import math
import random

import torch
from torch.nn.functional import conv2d

from labkit import messages
from labkit.exercises import Case, Out


def pair(v) -> tuple[int, int]:
    return (v, v) if isinstance(v, int) else tuple(v)


def forward(x, weight, bias=None, stride=1, padding=0, dilation=1):
    """y of x [N, C, H, W] and weight [C, 1, kh, kw]."""
    wide = None if bias is None else bias.double()
    return conv2d(x.double(), weight.double(), wide, stride, padding, dilation, x.shape[1]).to(x.dtype)


def backward(dy, x, weight, stride=1, padding=0, dilation=1):
    """(dx, dweight, dbias)."""
    wide, taps = x.double().requires_grad_(), weight.double().requires_grad_()
    made = conv2d(wide, taps, None, stride, padding, dilation, x.shape[1])
    dx, dw = torch.autograd.grad(made, (wide, taps), dy.double())
    return dx.to(x.dtype), dw.to(x.dtype), dy.double().sum((0, 2, 3)).to(x.dtype)


def terms(dy, x, weight, bias=None, stride=1, padding=0, dilation=1):
    """How large the terms are that (y, dx, dweight, dbias) add up."""
    how = stride, padding, dilation
    absolute = [t.double().abs() for t in (dy, x, weight)]
    y = forward(absolute[1], absolute[2], None if bias is None else bias.double().abs(), *how)
    return y, *backward(*absolute, *how)


def out_size(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def conv(x, kernel, stride=1, padding=0, dilation=1, bias=False) -> dict:
    """The kernels' Conv for a convolution of x [N, C, H, W]."""
    (kh, kw), (sh, sw), (ph, pw), (dh, dw) = map(pair, (kernel, stride, padding, dilation))
    n, c, h, w = x
    return {
        **{"batch": n, "channels": c, "height": h, "width": w},
        **{"outHeight": out_size(h, kh, sh, ph, dh), "outWidth": out_size(w, kw, sw, pw, dw)},
        **{"kernelH": kh, "kernelW": kw, "strideH": sh, "strideW": sw, "padH": ph, "padW": pw},
        **{"dilationH": dh, "dilationW": dw, "upH": 1, "upW": 1, "flip": 0, "bias": int(bias)},
    }


def conv_of_gradient(x, kernel, stride=1, padding=0, dilation=1) -> dict:
    """The Conv that makes dx of dy: y and x change places, and so do stride and up."""
    c = conv(x, kernel, stride, padding, dilation)
    return c | {
        **{"height": c["outHeight"], "width": c["outWidth"], "outHeight": c["height"], "outWidth": c["width"]},
        **{"strideH": 1, "strideW": 1, "upH": c["strideH"], "upW": c["strideW"], "flip": 1},
        "padH": c["dilationH"] * (c["kernelH"] - 1) - c["padH"],
        "padW": c["dilationW"] * (c["kernelW"] - 1) - c["padW"],
    }


def draw(seed: int, count: int) -> list[dict]:
    """Cases by a stated rule: case i comes from random.Random(f"{seed} {i}"). Each size is one of its extremes in a
    third of the cases; kernels may be larger than the row, where the padding lets them fit; the work is bounded."""
    return [_drawn(random.Random(f"{seed} {i}")) for i in range(count)]


def _drawn(r: random.Random) -> dict:
    while True:
        extreme = r.random() < 1 / 3
        n = r.choice([1, 1, 2, 3, 5])
        c = r.choice([1, 2, 16, 63, 64, 65, 129]) if extreme else r.choice([3, 8, 17, 32, 48, r.randint(1, 80)])
        h = r.choice([1, 2, 31, 57]) if extreme else r.randint(3, 20)
        w = r.choice([1, 2, 33, 113]) if extreme else r.randint(3, 20)
        kernel = (3, 3) if r.random() < 0.4 else (r.randint(1, 7), r.randint(1, 7))
        stride = (1, 1) if r.random() < 0.5 else (r.randint(1, 3), r.randint(1, 3))
        dilation = (1, 1) if r.random() < 0.6 else (r.randint(1, 3), r.randint(1, 3))
        padding = r.choice([(0, 0), (1, 1), (kernel[0] // 2, kernel[1] // 2), (r.randint(0, 12), r.randint(0, 12))])
        out = [out_size(s, *rest) for s, *rest in zip((h, w), kernel, stride, padding, dilation)]
        if min(out) >= 1 and n * c * max(h * w, out[0] * out[1]) <= 120_000:
            how = {"stride": stride, "padding": padding, "dilation": dilation}
            return {"x": (n, c, h, w), "kernel": kernel, "bias": r.random() < 0.4, **how}


CUBES, VECTORS = 24, 48  # cores of the chip
L1_SLOT, L1_WEIGHT_SLOT = (
    size * 1024 - 256 for size in (212, 252)
)  # of the cube's kernels, less what a piece lies behind


def cube_plan(c: dict, gradient: bool = False) -> tuple[int, int] | tuple[int, int, int] | None:
    """(pieces, high) for the cube's kernel, or (pieces, high, splits) for that of the weight's gradient, by the rule of
    depthwise_conv_torch.asc; None where it cannot take c."""
    reach = c["dilationH"] * (c["kernelH"] - 1) + 1, c["dilationW"] * (c["kernelW"] - 1) + 1
    taps = c["kernelH"] * c["kernelW"] + c["bias"]
    if c["channels"] % 16 or c["upH"] * c["upW"] > 1 or taps > 50:
        return None
    if not (0 <= c["padH"] < reach[0] <= 255 and 0 <= c["padW"] < reach[1]) or c["strideH"] > 63:
        return None
    units, rows = c["channels"] // 16, c["batch"] * c["outHeight"]
    slot, line = (L1_WEIGHT_SLOT, c["outWidth"]) if gradient else (L1_SLOT, 0)  # line: of dy, which lies there too
    pieces = min(
        -(-units * min(rows, CUBES) // CUBES),  # a small x: fewer channels a core rather than fewer cores
        8 if gradient else 8 // -(-c["kernelH"] * c["kernelW"] // 16),
        127 // taps,
        63 // c["strideW"],
        255 // c["dilationW"],
        255 // max(c["padW"], 1),
        32767 // max(c["width"], c["outWidth"]),
    )
    while pieces and (reach[0] * c["width"] + line) * pieces * 32 > slot:
        pieces //= 2
    if not pieces:
        return None
    groups = -(-units // pieces)
    pieces = -(-units // groups)
    splits = min(range(1, min(CUBES, rows) + 1), key=lambda s: (-(-groups * s // CUBES) / s, s)) if gradient else 1
    some = -(-rows // (16 * splits)) if gradient else -(-groups * rows // (4 * CUBES))
    high = min(c["outHeight"], max(1, some))
    while high > 1 and (
        (((high - 1) * c["strideH"] + reach[0]) * c["width"] + high * line) * pieces * 32 > slot
        or (high - 1) * c["strideH"] + reach[0] > 255
    ):
        high -= 1
    return (pieces, high, splits) if gradient else (pieces, high)


# ---- the exercises of notebooks 06.03 and 06.04


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def row_cases(seed, quick):
    """64 channels, x with its frame of zeros; sixteenths, so that every order of the sums gives the same. UB takes rows
    of 150 positions. A class has long columns of narrower rows, in which the budget holds as well."""
    g, made = torch.Generator().manual_seed(seed), []
    wide = random.Random(seed).randint(70, 150) if seed else 41
    draw = random.Random(seed + 1)
    narrow = ((60, draw.randint(6, 24)), (40, draw.randint(25, 63))) if seed else ()
    for height, width in (*narrow, *(((2, 5), (7, 12)) if quick else ((2, 5), (7, 12), (1, 1), (9, wide)))):
        x = torch.randint(-64, 65, (1, 64, height, width), generator=g) / 16.0
        weight = torch.randint(-16, 17, (64, 1, 3, 3), generator=g) / 16.0
        framed = torch.nn.functional.pad(x, (1, 1, 1, 1)).permute(0, 2, 3, 1).contiguous()
        want = forward(x, weight, padding=1).permute(0, 2, 3, 1)[0].contiguous()
        taps = weight.flatten(1).t().contiguous()
        args = framed[0], taps, Out(want.shape, want.dtype), height, width
        made.append(
            Case(
                f"{height} x {width}",
                args,
                want,
                blocks=min(3, height),
                tile=width * 64,
                budgeted=(height, width) in narrow,
            )
        )
    return made


def space_cases(seed, quick):
    counts = [60, 4, 61, MANY]
    expected = {
        say("the same for one seed", "同一 seed 相同"): True,
        say("others for another", "不同 seed 不同"): True,
        say(f"how many, asked for {counts}", f"要求 {counts} 个时的个数"): counts,
        say("the extremes first", "极端形状在前"): True,
        say("in range", "在范围内"): True,
        say("sides that are no power of two", "有边长不是 2 的幂"): True,
        say("small and large sides alike", "小边长与大边长一样常见"): True,
        say("sides of one shape that differ", "有形状的高和宽不同"): True,
        say("several numbers of channels", "通道数有多种"): True,
        say(f"sides that never come among {MANY:,}", f"{MANY:,} 个形状中从未出现的边长"): _written([]),
        say("channels that never come", "从未出现的通道数"): _written([]),
        say("whole exponents equally often", "指数的各整数段同样常见"): True,
        say("the module's random is left alone", "没有动模块自己的 random"): True,
    }
    return [Case(f"seed={seed + i}", (seed + i, counts), expected) for i in range(1 if quick else 3)]


def _written(numbers) -> str:
    return ", ".join(map(str, sorted(numbers)[:12])) + ", ..." * (len(numbers) > 12) or say("none", "无")


MANY = 6000  # shapes in which everything that can be drawn comes


def run_space(function, args, case):
    seed, counts = args
    ends = [(1, 16, 1, 1), (1, 16, 1, 63), (1, 16, 63, 1), (1, 128, 63, 63)]
    random.seed(5)
    state = random.getstate()
    first = [tuple(s) for s in function(seed, counts[0])]
    left_alone = random.getstate() == state
    again, other = function(seed, counts[0]), function(seed + 100, counts[0])
    lengths = [len(first), *(len(function(seed, n)) for n in counts[1:-1])]
    many = function(seed, counts[-1])
    lengths.append(len(many))
    drawn = many[len(ends) :]
    sides = [s for shape in drawn for s in shape[2:]]
    every = [*first, *many]
    fits = all(n == 1 and c % 16 == 0 and 16 <= c <= 128 and 1 <= min(h, w) <= max(h, w) <= 63 for n, c, h, w in every)
    small = sum(s < 8 for s in sides) / max(1, len(sides))
    odd = any(s & (s - 1) for s in sides)
    ahead = first[:4] == ends or (say("elsewhere", "在别处") if {*ends} <= {*first} else False)
    alike = 0.45 < small < 0.55 or (
        say("no small ones", "没有小边长")
        if not small
        else say("too few small ones", "小边长太少")
        if small < 0.5
        else say("too few large ones", "大边长太少")
    )
    apart = any(h != w for _, _, h, w in drawn)
    channels = {c for _, c, _, _ in drawn}
    never = _written({*range(1, 64)} - {*sides}), _written({*range(16, 129, 16)} - channels)
    said = again == first, other != first, lengths, ahead, fits, odd, alike, apart, len(channels) > 1, *never
    return dict(zip(case.expected, (*said, _octaves(drawn), left_alone)))


def _octaves(shapes):
    """True where a sixth of the heights, and of the widths, lies from each power of two up to the next."""
    for at, name in ((2, say("heights", "高")), (3, say("widths", "宽"))):
        for e in range(6):
            share = sum(2**e <= shape[at] < 2 ** (e + 1) for shape in shapes) / max(1, len(shapes))
            if not 0.13 < share < 0.21:
                to = f"{2**e}..{2 ** (e + 1) - 1}"
                return say(f"{name} {to}: {share:.0%}, not 17 %", f"{name} {to}：{share:.0%}，应为 17 %")
    return True


# (what b takes against a, what the second of two runs takes against the first, pairs, how the device drifts, verdict)
DEVICES = (
    (1.0, 1.02, 800, "slower", "same"),
    (0.95, 1.02, 400, "slower", "faster"),
    (1.05, 1.02, 400, "slower", "slower"),
    (1.0, 1.003, 300, "slower", "same"),
    (0.97, 1.01, 500, "in waves", "faster"),
)


def verdict_cases(seed, quick):
    def name(ratio, second, count, drift):
        waves = say(", in waves", "，时快时慢") if drift == "in waves" else ""
        return say(f"b / a = {ratio}, second {second}{waves}", f"b / a = {ratio}，后一次 {second}{waves}")

    return [Case(name(*rest), (*rest, seed), verdict) for *rest, verdict in DEVICES]


def run_verdict(function, args, case):
    """On a device that becomes slower all the time, or slower and faster, and where the second of two runs is slower.
    Right is a verdict out of about `count` pairs: a run to warm up or a third one in a pair are up to the learner."""
    ratio, second, count, drift, seed = args

    def once():
        r, calls = random.Random(seed + 1), []

        def take(program):
            calls.append(program)
            at = len(calls)
            slower = 1 + at / 2000 if drift == "slower" else 1 + 0.35 * math.sin(at / 12)
            return 10 * (ratio if program == "b" else 1) * slower * (second if at % 2 == 0 else 1) * r.gauss(1, 0.01)

        return function(take, "a", "b", count, seed), calls

    verdict, calls = once()
    if not 2 * count <= len(calls) <= 3 * count + 20:
        return say(f"{len(calls)} runs for {count} pairs", f"{count} 对却运行了 {len(calls)} 次")
    if once()[1] != calls:
        return say("another order of the runs for the same seed", "同一 seed 的运行顺序不同")
    return verdict
