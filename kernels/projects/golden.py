"""Cases of the projects: whole kernels, from a signature to a time. Operators: kernels/operator_projects.

Kernels take float and half (`wide` says which), sizes that come out even and sizes that do not, fewer pieces than
blocks; the last case is a large one, and its time counts.
"""

from __future__ import annotations

import random
from functools import partial

import torch
from torch.nn import functional as F

from labkit import messages
from labkit.exercises import Case, Out

FLOAT = (2e-5, 2e-6)  # a handful of float instructions and a sum
HALF = (1.1e-3, 1e-4)  # one rounding to half, and the instructions before it
EPS = 1e-5
TYPES = (torch.half, torch.float32)


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def _x(seed, *shape, scale=1.0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _tolerance(x):
    return FLOAT if x.dtype == torch.float32 else HALF


def _wide(x):
    return int(x.dtype == torch.float32)


# ---- 01: kernels


def leaky_cases(seed, quick):
    """(n, type, slope, blocks); a slope above one and one below zero tell max(x, slope * x) from the operator. Some
    numbers are as large and as small as their type has them."""
    sizes = (
        (1, torch.float32, 0.125, 1),
        (4096, torch.half, 0.125, 2),
        (1000, torch.half, 0.25, 8),
        (33, torch.float32, 2.0, 4),
        (100_003, torch.float32, 0.1, 3),  # a slope that half does not hold; more tiles than blocks
        (40_009, torch.half, -0.5, 7),
        (1 << 20, torch.half, 0.125, 8),
    )
    made = []
    for k, (n, dtype, slope, blocks) in enumerate(sizes[1:5] if quick else sizes):
        x = _x(seed + k, n).clamp(-4, 4)
        x[::3] *= 2.0 ** _x(seed + 60 + k, len(x[::3]), scale=40.0 if dtype == torch.float32 else 6.0).clamp(-120, 120)
        x = (x if dtype == torch.float32 else x.clamp(-32_000, 65_504)).to(dtype)
        made.append(
            Case(
                f"n={n} {_name(dtype)} slope={slope}",
                (x, Out(x.shape, dtype), n, slope, _wide(x)),
                torch.where(x > 0, x, x * slope),
                blocks=blocks,
            )
        )
    return made


def _name(dtype):
    return "float" if dtype == torch.float32 else "half"


def log_softmax_named(x):
    """(sentence, result) of what a kernel gives that makes one of the usual mistakes."""
    rows = x.double()
    most = rows.max(-1, keepdim=True).values
    shifted = rows - most
    total = shifted.exp().sum(-1, keepdim=True)
    padding = say(
        "The zeros that pad a row in UB count in its sum: exp makes no 0 of them.",
        "UB 中行尾的填充零被算进了和：exp 不会把它们变成 0。",
    )
    pads = {-x.shape[-1] % 16, -x.shape[-1] % (32 // x.element_size())} - {0}
    found = [
        (say("That is the softmax: its logarithm is asked for.", "这是 softmax：要求的是它的对数。"),
         shifted.exp() / total),
        (say("The logarithm of the sum is not taken.", "没有对和取对数。"), shifted - total),
        (say("Only the largest value is taken away, not the logarithm of the sum.",
             "只减去了最大值，没有减去和的对数。"), shifted),
        (say("The logarithm of the sum is that of x minus the row's largest value: it has to be taken from the same.",
             "和的对数是对 x 减去行最大值而言的：应从同样的差中减去。"), rows - total.log()),
        (say("The row's largest value is taken away twice.", "行最大值被减去了两次。"), shifted - total.log() - most),
        *((padding, shifted - (total + n * (-most).exp()).log()) for n in pads),
        *((padding, shifted - (total + n).log()) for n in pads),
    ]  # fmt: skip
    return [(sentence, result.to(x.dtype)) for sentence, result in found]


def _far_apart(seed, rows, width, dtype):
    """Rows up to the largest numbers of their type, every second one far below 0. No value is near its row's largest,
    so no order of the subtractions loses digits; the differences are numbers of the type too."""
    g = torch.Generator().manual_seed(seed)
    steps = torch.stack([torch.linspace(0.05, 1, width)[torch.randperm(width, generator=g)] for _ in range(rows)])
    steps[1::2] *= -1
    most = (3e38, 1e4) if dtype == torch.float32 else (6.5e4, 2e4)
    return (steps * torch.tensor(most).repeat_interleave(2).repeat(rows)[:rows, None]).to(dtype)


def log_softmax_cases(seed, quick):
    """(rows, width, type, blocks); the values reach 100, where float's exp overflows; in a class there are two further
    cases with values as large as their type has."""
    sizes = (
        (1, 1, torch.float32, 1),
        (9, 7, torch.half, 2),
        (5, 64, torch.float32, 8),
        (6, 1000, torch.half, 4),
        (3, 4001, torch.float32, 2),
        (512, 2048, torch.half, 8),
    )
    made = []
    sizes = sizes[1:5] if quick else sizes
    far = ((8, 43, torch.half, 3), (8, 75, torch.float32, 3)) if seed else ()
    for k, (rows, width, dtype, blocks) in enumerate((*far, *sizes)):
        k -= len(far)
        x = _far_apart(seed, rows, width, dtype) if k < 0 else _x(seed + k, rows, width, scale=30.0).to(dtype)
        made.append(
            Case(
                f"{rows} rows of {width} {_name(dtype)}",
                (x, Out(x.shape, dtype), rows, width, _wide(x)),
                torch.log_softmax(x.double(), -1).to(dtype),
                (1e-5, 2e-5) if _wide(x) else HALF,
                blocks=blocks,
                tile=width,
                layout="interleaved",
                mistakes=partial(log_softmax_named, x),
            )
        )
    return made


def rope(x, cos, sin):
    """x: tokens, heads, dim; the two halves of dim are turned against each other. In double, rounded once."""
    first, second = x.double().chunk(2, -1)
    c, s = cos.double()[:, None], sin.double()[:, None]
    return torch.cat([first * c - second * s, first * s + second * c], -1).to(x.dtype)


def rope_named(x, cos, sin):
    """(sentence, result) of what a kernel gives that makes one of the usual mistakes."""
    (a, b), c, s = x.double().chunk(2, -1), cos.double()[:, None], sin.double()[:, None]
    turned = a * c - b * s
    even, odd = x.double()[..., ::2], x.double()[..., 1::2]
    pairs = torch.stack([even * c - odd * s, even * s + odd * c], -1).flatten(-2)

    def given(first, second):
        return torch.cat([first, second], -1).to(x.dtype)

    return [
        (say("The second half is made from the new first half: both need x as it was.",
             "后一半用了已经更新的前一半：两者都需要原来的 x。"), given(turned, turned * s + b * c)),
        (say("It is turned the other way: the first half takes b * sin away, the second adds a * sin.",
             "旋转方向反了：前一半减去 b * sin，后一半加上 a * sin。"), given(a * c + b * s, b * c - a * s)),
        (say("cos and sin are exchanged.", "cos 和 sin 用反了。"), given(a * s - b * c, a * c + b * s)),
        (say("Neighbours are turned against each other; the two of a pair lie half a row apart.",
             "相邻的两个数被相互旋转；一对数相距半行。"), pairs.to(x.dtype)),
        (say("The second half comes out as it went in.", "后一半原样输出。"), given(turned, b)),
        (say("Only the products with cos are there: those with sin are missing.",
             "只有与 cos 的乘积：缺少与 sin 的乘积。"), given(a * c, b * c)),
        (say("The second half takes a * sin away: it is added.", "后一半减去了 a * sin：应加上。"),
         given(turned, b * c - a * s)),
        (say("The first half adds b * sin: it is taken away.", "前一半加上了 b * sin：应减去。"),
         given(a * c + b * s, a * s + b * c)),
    ]  # fmt: skip


def rope_cases(seed, quick):
    """(tokens, heads, dim, type, blocks); halves of a row that fill no block of 32 bytes, one head, one token; a dim
    that follows the seed, of more lanes than four repeats have."""
    sizes = (
        (1, 1, 32, torch.float32, 1),
        (5, 3, 40, torch.half, 2),
        (3, 2, 36, torch.float32, 8),
        (7, 8, 128, torch.half, 4),
        (9, 4, 200, torch.float32, 4),
        (3, 2, 328 + 2 * random.Random(seed).randint(100, 330) * bool(seed), torch.half, 2),
        (3, 255, 8, torch.half, 2),
        (256, 32, 128, torch.half, 8),
    )
    made = []
    for k, (tokens, heads, dim, dtype, blocks) in enumerate(sizes[1:5] if quick else sizes):
        x = _x(seed + k, tokens, heads, dim).to(dtype)
        angle = _x(seed + 100 + k, tokens, dim // 2, scale=3.0).double()
        cos, sin = angle.cos().float(), angle.sin().float()
        made.append(
            Case(
                f"tokens={tokens} heads={heads} dim={dim} {_name(dtype)}",
                (x, cos, sin, Out(x.shape, dtype), tokens, heads, dim, _wide(x)),
                rope(x, cos, sin),
                FLOAT if _wide(x) else HALF,
                blocks=blocks,
                tile=heads * dim,
                layout="interleaved",
                mistakes=partial(rope_named, x, cos, sin),
            )
        )
    return made


# ---- 04: fused kernels


def leaky(x):
    return torch.where(x > 0, x, 0.125 * x)


def scale_leaky_named(x, scale, bias):
    """(sentence, result) of what a kernel gives that rounds too early."""
    s, b = scale.to(x.dtype), bias.to(x.dtype)
    found = [
        (say("It is computed in half: widen x, compute in float with scale and bias as they come, and round y once.",
             "计算用的是 half：应先把 x 转成 float，scale 和 bias 按给定的 float 使用，只在 y 处舍入一次。"),
         leaky(((x.double() * s.double()).to(x.dtype).double() + b.double()).to(x.dtype).double())),
        (say("The scale and the bias are rounded to half before they are used: they come in float and stay in float.",
             "scale 和 bias 在使用前被舍入成了 half：它们以 float 给出，应保持 float。"),
         leaky(x.double() * s.double() + b.double())),
        (say("The product is rounded to half before the bias is added: only y is rounded.",
             "加 bias 之前乘积被舍入成了 half：只有 y 需要舍入。"),
         leaky((x.double() * scale.double()).to(x.dtype).double() + bias.double())),
        (say("The sum is rounded to half before the activation: only y is rounded.",
             "激活之前和被舍入成了 half：只有 y 需要舍入。"),
         leaky((x.double() * scale.double() + bias.double()).to(x.dtype).double())),
    ]  # fmt: skip
    return [(sentence, result.to(x.dtype)) for sentence, result in found]


def scale_leaky_cases(seed, quick):
    """(rows, width, type, blocks); scale and bias are float, one number for each column. A class has more rows than all
    others, and the largest width, in both types.
    """
    sizes = (
        (1, 1, torch.float32, 1),
        (9, 7, torch.half, 2),
        (5, 64, torch.float32, 8),
        (6, 1000, torch.half, 4),
        (3, 4001, torch.float32, 2),
        (512, 2048, torch.half, 8),
    )
    draw = random.Random(seed)
    drawn = [(draw.randint(600, 2500), draw.randint(2, 150), dtype, draw.randint(1, 8)) for dtype in TYPES]
    drawn += [(draw.randint(2, 9), draw.choice((4096, draw.randint(2049, 4095))), TYPES[0], draw.randint(1, 8))]
    drawn += [(draw.randint(2, 9), 4096, TYPES[1], draw.randint(1, 8))]
    made = []
    for k, (rows, width, dtype, blocks) in enumerate(sizes[1:5] if quick else (*(drawn if seed else ()), *sizes)):
        x, scale, bias = _x(seed + k, rows, width).to(dtype), _x(seed + 50 + k, width), _x(seed + 90 + k, width)
        want = leaky(x.double() * scale.double() + bias.double()).to(dtype)
        made.append(
            Case(
                f"{rows} rows of {width} {_name(dtype)}",
                (x, scale, bias, Out(x.shape, dtype), rows, width, _wide(x)),
                want,
                FLOAT if _wide(x) else HALF,
                blocks=blocks,
                tile=width,
                layout="interleaved",
                mistakes=partial(scale_leaky_named, x, scale, bias),
            )
        )
    return made


def cross_entropy_cases(seed, quick):
    """(rows, classes, type, blocks); the targets are spread over all classes, the last one among them, where the
    largest number of the last one of long rows lies, too."""
    draw = random.Random(seed)
    sizes = (
        (1, 1, torch.float32, 1),
        (9, 7, torch.half, 2),
        (5, 64, torch.float32, 8),
        (77, 1000, torch.half, 4),
        (3, 4001, torch.float32, 2),
        (2600, 40, torch.half, 2),
        (5000, 8, torch.float32, 1),
        (5, 4096, torch.float32, 4),  # the most classes that the task names, in both types
        (2, 4096, torch.half, 1),
        (draw.randint(1, 20), draw.randint(3000, 4096), draw.choice((torch.half, torch.float32)), draw.randint(1, 8)),
        (256, 2048, torch.half, 8),
    )
    made = []
    for k, (rows, classes, dtype, blocks) in enumerate((*sizes[1:5], sizes[8]) if quick else sizes):
        x = (_x(seed + k, rows, classes, scale=20.0) + (0, -300, 300)[k % 3]).to(dtype)  # rows far from 0 on both sides
        target = (torch.arange(rows) * 37 + classes - 1) % classes
        if classes > 4001:
            x[-1, -1] = x[-1].max() + 40
        want = F.cross_entropy(x.double(), target, reduction="none").float()
        made.append(
            Case(
                f"{rows} rows of {classes} {_name(dtype)}",
                (x, target.int(), Out((rows,), torch.float32), rows, classes, _wide(x)),
                want,
                (2e-5, 1e-4),
                blocks=blocks,
            )
        )
    return made


def group_norm_silu(x, weight, bias, groups):
    """In double, rounded once."""
    return F.silu(F.group_norm(x.double(), groups, weight.double(), bias.double(), EPS)).to(x.dtype)


def group_norm_named(x, weight, bias, groups):
    """(sentence, result) of what a kernel gives that takes the padding of a channel's row in UB, to 16 elements or to
    32 bytes, for numbers of the group, or another sum, weight or formula."""
    samples, channels, area = x.shape
    inside, pads = channels // groups * area, {-area % 16, -area % (32 // x.element_size())}
    rows = x.double().reshape(samples, groups, -1)
    total = rows.sum(-1, keepdim=True)

    def given(mean, variance, shift=None, w=weight, b=bias, last=F.silu):
        normal = (rows - (mean if shift is None else shift)) / (variance + EPS).sqrt()
        affine = normal.reshape(x.shape) * w.double()[:, None] + b.double()[:, None]
        return last(affine).to(x.dtype)

    def squares(mean):
        return (rows - mean).square().sum(-1, keepdim=True)

    mean = total / inside
    right, first, ones = squares(mean) / inside, torch.arange(channels) % (channels // groups), torch.ones(channels)
    by_padded = say(
        "divided by the number of elements with the padding of the rows; the padding is no part of the group: "
        "divide by channels * area.",
        "除数包含了各行的填充；填充不属于组：应除以 channels * area。",
    )
    beside_counts = say(
        "The zeros that pad a channel's row count in the variance: with the mean taken away they are no longer 0.",
        "通道行尾的填充零被算进了方差：减去均值后它们不再是 0。",
    )
    per_channel = x.double().mean(-1, keepdim=True), x.double().var(-1, unbiased=False, keepdim=True)
    instance = (x.double() - per_channel[0]) / (per_channel[1] + EPS).sqrt()
    found = []
    for beside in (channels // groups * pad for pad in pads):
        padded = total / (inside + beside)
        found += [
            (say("Mean and variance are ", "均值和方差的") + by_padded,
             given(padded, squares(padded) / (inside + beside))),
            (say("The mean is ", "均值的") + by_padded, given(padded, squares(padded) / inside)),
            (say("The variance is ", "方差的") + by_padded, given(mean, squares(mean) / (inside + beside))),
            (beside_counts, given(mean, (squares(mean) + beside * mean.square()) / inside)),
            (beside_counts, given(mean, (squares(mean) + beside * mean.square()) / (inside + beside))),
            (beside_counts, given(padded, (squares(padded) + beside * padded.square()) / (inside + beside))),
        ]  # fmt: skip
    return found + [
        (say("The variance is divided by one less than the number of elements.", "方差除以了元素数减一。"),
         given(mean, squares(mean) / max(inside - 1, 1))),
        (say("eps is left out: it is added to the variance before the root.", "漏掉了 eps：应在开方之前加到方差上。"),
         given(mean, right - EPS)),
        (say("eps is added behind the root; it belongs to the variance.", "eps 加在了开方之后：应加到方差上。"),
         given(mean, (right.sqrt() + EPS).square() - EPS)),
        (say("The mean is not taken away from x before it is scaled.", "缩放之前没有从 x 中减去均值。"),
         given(mean, right, 0)),
        (say("It is divided by the variance: the root of it is missing.", "除以的是方差：漏了开方。"),
         given(mean, (right + EPS).square() - EPS)),
        (say("The mean of the squares is taken for the variance: take the mean away first.",
             "把平方的均值当成了方差：应先减去均值。"),
         given(mean, squares(0) / inside)),
        (say("Every group is weighted like group 0: weight and bias have a number for each of groups * channels.",
             "所有组都用了 0 号组的权重：weight 和 bias 有 groups * channels 个数。"),
         given(mean, right, w=weight[first], b=bias[first])),
        (say("weight is left out.", "漏掉了 weight。"), given(mean, right, w=ones)),
        (say("bias is left out.", "漏掉了 bias。"), given(mean, right, b=0 * ones)),
        (say("SiLU is left out: this is the group norm alone.", "漏掉了 SiLU：这只是 group norm。"),
         given(mean, right, last=lambda y: y)),
        (say("That is the sigmoid: SiLU is x times it.", "这是 sigmoid：SiLU 还要乘 x。"),
         given(mean, right, last=torch.sigmoid)),
        (say("Mean and variance are of each channel; they are of the whole group.",
             "均值和方差按每个通道计算；应按整个组。"),
         F.silu(instance * weight.double()[:, None] + bias.double()[:, None]).to(x.dtype)),
    ]  # fmt: skip


def group_norm_cases(seed, quick):
    """(samples, groups, channels of a group, area, type, blocks, mean, deviation); a mean far from 0 spoils
    E[x * x] - mean * mean, and a variance as small as eps shows what is done with eps. A class has
    as many channels as may be, each alone as large as may be, and more samples and groups than all others."""
    sizes = (
        (1, 1, 1, 16, torch.float32, 1, 1, 1),
        (2, 3, 4, 49, torch.half, 2, 1, 1),
        (1, 2, 5, 33, torch.float32, 8, 200, 1),
        (3, 4, 2, 196, torch.half, 4, 1, 1),
        (2, 2, 8, 401, torch.float32, 4, 1, 1),
        (2, 2, 3, 40, torch.float32, 2, 0, 0.004),
        (8, 32, 4, 784, torch.half, 8, 1, 1),
    )
    draw = random.Random(seed)
    one, channels, either = draw.randint, draw.randint(9, 60), draw.sample(TYPES, 2)
    drawn = [
        (2, one(2, 3), 256, one(5, 16), either[0], one(1, 4), 1, 1),
        (1, 3, 1, one(4081, 4096), either[1], 2, 1, 1),
        (one(9, 20), one(33, 50), one(2, 4), one(3, 40), either[0], 8, 1, 1),
        *((2, 3, channels, one(2, 4096 // channels // 16 * 16), dtype, 3, 1, 1) for dtype in TYPES),
    ]
    made = []
    for k, (samples, groups, channels, area, dtype, blocks, mean, deviation) in enumerate(
        sizes[1:6] if quick else (*(drawn if seed else ()), *sizes)
    ):
        x = (_x(seed + k, samples, groups * channels, area, scale=deviation) + mean).to(dtype)
        weight, bias = 1 + _x(seed + 50 + k, groups * channels, scale=0.3), _x(seed + 90 + k, groups * channels)
        made.append(
            Case(
                f"samples={samples} groups={groups} channels={channels} area={area} {_name(dtype)}",
                (x, weight, bias, Out(x.shape, dtype), samples, groups, channels, area, _wide(x)),
                group_norm_silu(x, weight, bias, groups),
                (2e-4, 2e-4) if _wide(x) else HALF,
                blocks=blocks,
                tile=channels * area,
                layout="interleaved",
                mistakes=partial(group_norm_named, x, weight, bias, groups),
            )
        )
    return made
