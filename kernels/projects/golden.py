"""Cases of the projects: whole kernels and operators, from a signature to a time.

Kernels take float and half (`wide` says which), sizes that come out even and sizes that do not, fewer pieces than
blocks; the last case is a large one, and its time counts. Operators are called through the dispatcher.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from functools import partial

import torch
from torch.nn import functional as F

from labkit import messages
from labkit.exercises import Case, Out, Refuses

FLOAT = (2e-5, 2e-6)  # a handful of float instructions and a sum
HALF = (1.1e-3, 1e-4)  # one rounding to half, and the instructions before it
EPS = 1e-5


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
    """(n, type, slope, blocks); a slope above one and one below zero tell max(x, slope * x) from the operator."""
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
        x = _x(seed + k, n).to(dtype)
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


def log_softmax_cases(seed, quick):
    """(rows, width, type, blocks); the values reach 100, where float's exp overflows."""
    sizes = (
        (1, 1, torch.float32, 1),
        (9, 7, torch.half, 2),
        (5, 64, torch.float32, 8),
        (6, 1000, torch.half, 4),
        (3, 4001, torch.float32, 2),
        (512, 2048, torch.half, 8),
    )
    made = []
    for k, (rows, width, dtype, blocks) in enumerate(sizes[1:5] if quick else sizes):
        x = _x(seed + k, rows, width, scale=30.0).to(dtype)
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
    """(tokens, heads, dim, type, blocks); halves of a row that fill no block of 32 bytes, one head, one token."""
    sizes = (
        (1, 1, 32, torch.float32, 1),
        (5, 3, 40, torch.half, 2),
        (3, 2, 36, torch.float32, 8),
        (7, 8, 128, torch.half, 4),
        (9, 4, 200, torch.float32, 4),
        (3, 2, 328, torch.half, 2),
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


def scale_leaky_cases(seed, quick):
    """(rows, width, type, blocks); scale and bias are float, one number for each column."""
    sizes = (
        (1, 1, torch.float32, 1),
        (9, 7, torch.half, 2),
        (5, 64, torch.float32, 8),
        (6, 1000, torch.half, 4),
        (3, 4001, torch.float32, 2),
        (512, 2048, torch.half, 8),
    )
    made = []
    for k, (rows, width, dtype, blocks) in enumerate(sizes[1:5] if quick else sizes):
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
    E[x * x] - mean * mean, and a variance as small as eps shows what is done with eps."""
    sizes = (
        (1, 1, 1, 16, torch.float32, 1, 1, 1),
        (2, 3, 4, 49, torch.half, 2, 1, 1),
        (1, 2, 5, 33, torch.float32, 8, 200, 1),
        (3, 4, 2, 196, torch.half, 4, 1, 1),
        (2, 2, 8, 401, torch.float32, 4, 1, 1),
        (2, 2, 3, 40, torch.float32, 2, 0, 0.004),
        (8, 32, 4, 784, torch.half, 8, 1, 1),
    )
    made = []
    for k, (samples, groups, channels, area, dtype, blocks, mean, deviation) in enumerate(
        sizes[1:6] if quick else sizes
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


# ---- 03: operators of PyTorch


def behind_nan(operator, args, case):
    """The call, where memory that is free holds NaN: what a kernel does not write is no 0 by chance."""
    for rows in (1, 2, 4, 8, 16, 20, 24, 32, 40, 48):
        torch.full((rows, *args[0].shape[-1:]), torch.nan, dtype=args[0].dtype, device=args[0].device)
    return operator(*args)


@contextmanager
def changing():
    """What the launches inside have written is changed behind each: times -2 after the first, -3 after the second ...
    The list has one entry for each launch."""
    from labkit.launch.kernel import Launcher

    launch, launches = Launcher.__call__, []

    def bits(t):
        return t.detach().cpu().reshape(-1).view(torch.uint8)

    def launched(self, *arguments):
        floats = [a for a in arguments if isinstance(a, torch.Tensor) and a.is_floating_point() and a.is_contiguous()]
        before = [bits(a) for a in floats]
        record = launch(self, *arguments)
        launches.append(self.kernel.signature.name)
        with torch.no_grad():
            for a, was in zip(floats, before):
                if not torch.equal(bits(a), was):
                    a.mul_(-1 - len(launches))
        return record

    Launcher.__call__ = launched
    try:
        yield launches
    finally:
        Launcher.__call__ = launch


def of_the_launches(make):
    """What make() returns, a list of tensors, from a second time, with names, and where it comes from. The first time
    what its launches write is changed, and the results have to follow: those of an operator whose kernels write
    nothing, or that PyTorch computes, are others. From one launch -2 times as much comes out, also where it is copied
    or added up; from several, other numbers."""
    with changing() as launches:
        changed = make()
    right, left = make(), 0
    for one, t in zip(changed, right):
        follows = torch.isclose(one, -2 * t, 1e-4, 1e-6) if len(launches) == 1 else (one != t) | (t == 0)
        left += int((~follows).sum())
    found = say(f"{left} from PyTorch, which no launch wrote", f"有 {left} 个来自 PyTorch，没有任何启动写过")
    return named_results(right, found if left else say(*KERNELS))


def named_results(tensors, source):
    return {say(f"result {i + 1}", f"结果 {i + 1}"): t for i, t in enumerate(tensors)} | {say(*NUMBERS): source}


# names of what `run` finds: in a grader's worker it has no case.expected
NUMBERS, KERNELS = ("numbers", "数的来源"), ("all from the kernels", "全部来自核函数")


def forward_of_launches(operator, args, case):
    return of_the_launches(lambda: [operator(*args)])


def gradients_of_launches(operator, args, case):
    """For an ordinary gradient, the last argument."""
    *args, grad = args
    inputs = [a.requires_grad_() for a in args if isinstance(a, torch.Tensor)]
    y = operator(*args)
    return of_the_launches(lambda: list(torch.autograd.grad(y, inputs, grad, retain_graph=True)))


def by_kernels(function, *args, seed, tolerance=None):
    """Are the result and its gradients the launches'? Fresh numbers: no launch before has written the same ones."""
    wide = [a.double().requires_grad_() if isinstance(a, torch.Tensor) else a for a in args]
    y = function(*wide)
    grad = _x(seed, *y.shape)
    back = torch.autograd.grad(y, [w for w in wide if isinstance(w, torch.Tensor)], grad.double())

    def case(name, args, tensors, run):
        return Case(name, args, named_results([t.float() for t in tensors], say(*KERNELS)), tolerance, run=run)

    return [
        case(say("who computes it", "由谁计算"), args, [y.detach()], forward_of_launches),
        case(say("who computes the gradients", "梯度由谁计算"), (*args, grad), back, gradients_of_launches),
    ]


def op_leaky(x, slope):
    return torch.where(x > 0, x, x * slope)


def op_leaky_cases(seed, quick):
    """Both types, tails, strides, nothing at all; what it cannot compute must be refused."""
    made = []
    for k, (shape, dtype, slope) in enumerate(
        (
            ((40,), torch.float32, 0.125),
            ((3, 5, 701), torch.half, 0.25),
            ((9, 1111), torch.float32, 2.0),
            ((200_003,), torch.float32, 0.1),
            ((5, 3001), torch.half, -0.5),
        )
    ):
        x = _x(seed + k, *shape).to(dtype)
        made.append(Case(f"shape={shape} {_name(dtype)} slope={slope}", (x, slope), op_leaky(x, slope), run=behind_nan))
    x, turned = made[2].args[0], _x(seed, 6, 50).T
    part = _x(seed + 1, 9, 40)[2:, 3:30]
    whole = torch.arange(6, dtype=torch.int32)
    one = torch.tensor(-1.5)
    refused = Refuses(("float", "half", "dtype", "type", "类型"))
    return [
        *made,
        Case("no dimensions", (one, 0.125), op_leaky(one, 0.125)),
        Case("transposed", (turned, 0.125), op_leaky(turned, 0.125).contiguous()),
        Case("a part of a larger tensor", (part, 0.125), op_leaky(part, 0.125).contiguous()),
        Case("empty", (turned[:0].contiguous(), 0.125), turned[:0].contiguous()),
        *by_kernels(op_leaky, _x(seed + 60, 7, 5003), 0.375, seed=seed + 61)[:1],
        Case("int32", (whole, 0.125), refused),
        Case("float64", (turned.double().contiguous(), 0.125), refused),
        Case("bfloat16", (turned.bfloat16().contiguous(), 0.125), refused),
        Case("meta", (x.half(), 0.125), x.half(), probe="meta"),  # a type that is no default
        Case("opcheck", (x, 0.125), None, probe="opcheck"),
        Case("opcheck, transposed", (turned, 0.125), None, probe="opcheck"),  # Meta's strides are the operator's
    ]


def squared_relu(x):
    return F.relu(x).square()


def op_squared_relu_cases(seed, quick):
    """Values; the gradient for an ordinary gradient and for that of sum(), which has strides of 0."""
    made = []
    for k, shape in enumerate(((7,), (4, 9), (3, 3001), (200_003,))):
        x = _x(seed + k, *shape)
        made.append(Case(f"shape={shape}", (x,), squared_relu(x), run=behind_nan))
    small, turned = _x(seed + 9, 4, 9), _x(seed + 7, 6, 50).T
    return [
        *made,
        Case("transposed", (turned,), squared_relu(turned).contiguous()),
        Case("gradients", (small,), squared_relu, FLOAT, probe="grad"),
        Case("gradients, a longer one", (_x(seed + 8, 5, 40_007),), squared_relu, FLOAT, probe="grad"),
        Case("gradients, transposed", (turned,), squared_relu, FLOAT, probe="grad"),
        Case("a kernel for the way back", (small,), None, probe="back"),
        *by_kernels(squared_relu, _x(seed + 60, 7, 5003), seed=seed + 61, tolerance=FLOAT),
        Case("opcheck", (small,), None, probe="opcheck"),
        Case("opcheck, transposed", (turned,), None, probe="opcheck"),  # Meta's strides are the operator's
    ]


def rms_norm(x, weight, eps):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


def rms_norm_gradients(grad, x, weight, eps):
    """(sentence, number of the argument, gradient) of what a way back gives that makes one of the usual mistakes."""
    grad, x, weight = grad.double(), x.double(), weight.double()
    root = torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    normed, into = x * root, grad * weight

    def mean(t):
        return t.mean(-1, keepdim=True)

    rows = tuple(range(x.ndim - 1))
    return [
        (say("The mean in it is that of grad * x: the weight comes after x, so it has to be that of grad * weight * x.",
             "其中的均值取的是 grad * x：x 与结果之间还有 weight，应取 grad * weight * x 的均值。"),
         0, root * (into - normed * mean(grad * normed))),
        (say("The root is taken for a constant: it depends on the row, and takes a mean of grad * weight * x off.",
             "把根当成了常数：它依赖于该行的每个 x，要减去 grad * weight * x 的均值一项。"), 0, root * into),
        (say("The weight is missing in it: grad * weight stands where grad stands alone.",
             "缺少 weight：只有 grad 的地方应是 grad * weight。"), 0, root * (grad - normed * mean(grad * normed))),
        (say("Only the mean has the weight; the first term is grad * weight too.",
             "只有均值里有 weight；第一项也应是 grad * weight。"), 0, root * (grad - normed * mean(into * normed))),
        (say("What the root takes away is added.", "根带来的那一项应减去，这里加上了。"),
         0, root * (into + normed * mean(into * normed))),
        (say("A sum over the row stands where its mean belongs: it is not divided by the width.",
             "该用行均值的地方用了行和：没有除以宽度。"),
         0, root * (into - normed * (into * normed).sum(-1, keepdim=True))),
        (say("x and not x / root(mean) stands in the second term: a power of the root is missing.",
             "第二项用的是 x，而不是归一化后的 x：少乘了根的幂。"), 0, root * (into - x * mean(into * x))),
        (say("x and not the normed x is summed up.", "累加的是 x，而不是归一化后的 x。"), 1, (grad * x).sum(rows)),
        (say("A mean over the rows stands where their sum belongs.", "该用各行之和的地方用了均值。"),
         1, (grad * normed).mean(rows)),
        (say("It is that of the first row alone: the weight's gradient is a sum over all rows.",
             "只有第一行的：weight 的梯度是所有行之和。"), 1, (grad * normed).flatten(0, -2)[0]),
    ]  # fmt: skip


def op_rms_norm_cases(seed, quick):
    """Rows of any width; both gradients, that of the weight is a sum over all rows."""
    made = []
    for k, (rows, width) in enumerate(((1, 8), (9, 7), (20, 1000))):
        x, weight = _x(seed + k, rows, width), 1 + _x(seed + 50 + k, width, scale=0.3)
        made.append(
            Case(
                f"{rows} rows of {width}",
                (x, weight, EPS),
                rms_norm(x.double(), weight.double(), EPS).float(),
                (5e-5, 1e-5),
            )
        )
    x, weight = _x(seed + 7, 13, 33), 1 + _x(seed + 57, 33, scale=0.3)
    wide, of_wide = _x(seed + 8, 3, 4096), 1 + _x(seed + 58, 4096, scale=0.3)
    turned = _x(seed + 9, 33, 13).T
    exact = (5e-5, 1e-5)
    return [
        *made,
        Case(
            "three dimensions",
            (x.view(13, 3, 11), weight[:11], EPS),
            rms_norm(x.view(13, 3, 11), weight[:11], EPS),
            exact,
        ),
        Case("eps=0.25, 3 rows of 4096", (wide, of_wide, 0.25), rms_norm(wide, of_wide, 0.25), exact),
        Case("transposed", (turned, weight, EPS), rms_norm(turned, weight, EPS).contiguous(), exact),
        Case("gradients", (x, weight, EPS), rms_norm, (2e-4, 5e-5), probe="grad", mistakes=rms_norm_gradients),
        Case(
            "gradients, eps=0.25, 3 rows of 4096",
            (wide, of_wide, 0.25),
            rms_norm,
            (2e-4, 5e-5),
            probe="grad",
            run=behind_nan,
            mistakes=rms_norm_gradients,
        ),
        Case(
            "gradients, transposed",
            (turned, weight, EPS),
            rms_norm,
            (2e-4, 5e-5),
            probe="grad",
            mistakes=rms_norm_gradients,
        ),
        Case("a kernel for the way back", (x, weight, EPS), None, probe="back"),
        *by_kernels(
            rms_norm,
            _x(seed + 60, 21, 77),
            1 + _x(seed + 62, 77, scale=0.3),
            EPS,
            seed=seed + 61,
            tolerance=(2e-4, 5e-5),
        ),
        Case("opcheck", (x, weight, EPS), None, probe="opcheck"),
        Case("opcheck, transposed", (turned, weight, EPS), None, probe="opcheck"),  # Meta's strides are the operator's
    ]
