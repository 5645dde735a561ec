"""Cases of the projects that are operators of PyTorch, called through the dispatcher, with gradients."""

from __future__ import annotations

from contextlib import contextmanager

import torch
from torch.nn import functional as F

from labkit import messages
from labkit.exercises import Case, Refuses

FLOAT = (2e-5, 2e-6)  # a handful of float instructions and a sum
EPS = 1e-5


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def _x(seed, *shape, scale=1.0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


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
        name = f"shape={shape} {'float' if dtype == torch.float32 else 'half'} slope={slope}"
        made.append(Case(name, (x, slope), op_leaky(x, slope), run=behind_nan))
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
        if len(shape) == 2:
            x *= 2.0 ** _x(seed + 40 + k, *shape, scale=15.0).clamp(-50, 50)  # far from 1 as well
        made.append(Case(f"shape={shape}", (x,), squared_relu(x), run=behind_nan))
    long = _x(seed + 8, 5, 40_007)
    long[:, ::5] *= 2.0 ** _x(seed + 44, 5, 8002, scale=8.0).clamp(-30, 30)
    small, turned = _x(seed + 9, 4, 9), _x(seed + 7, 6, 50).T
    return [
        *made,
        Case("transposed", (turned,), squared_relu(turned).contiguous()),
        Case("gradients", (small,), squared_relu, FLOAT, probe="grad"),
        Case("gradients, a longer one", (long,), squared_relu, FLOAT, probe="grad"),
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
        (say("In the second term one x of the two is not normed: a power of the root is missing.",
             "第二项的两个 x 中有一个没有归一化：少乘了一次根。"), 0, root * (into - normed * mean(into * x))),
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
