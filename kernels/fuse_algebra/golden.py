"""Cases of notebook 04.02's exercises: batch norms to fold, and layers for which one may or may not be folded."""

from __future__ import annotations

import random

import torch
from torch import nn

from labkit.exercises import Case

# channels in and out, kernel, whether there is a bias, the norm's eps
SHAPES = ((3, 8, 3, True, 1e-5), (4, 4, 1, False, 1e-3), (2, 6, 5, True, 0.25))
NEAR = {"float64": (1e-9, 1e-12), "float32": (1e-4, 1e-5)}


def layers(channels: int, out: int, kernel: int, bias: bool, eps: float, seed: int, dtype: str = "float64"):
    """A convolution, a batch norm as training leaves it, an input; in fp64, so that only the algebra can be
    wrong; in fp32, PyTorch's own type, to see that it stays."""
    g = torch.Generator().manual_seed(seed)
    conv = nn.Conv2d(channels, out, kernel, padding=kernel // 2, bias=bias).double()
    norm = nn.BatchNorm2d(out, eps=eps).double().eval()
    with torch.no_grad():
        for t in (*conv.parameters(), norm.weight, norm.bias, norm.running_mean):
            t.copy_(torch.randn(t.shape, generator=g, dtype=torch.float64))
        norm.running_var.copy_(torch.rand(out, generator=g, dtype=torch.float64) + 0.2)
    x = torch.randn(2, channels, 6, 6, generator=g, dtype=torch.float64)
    return tuple(t.to(getattr(torch, dtype)) for t in (conv, norm, x))


def fold_cases(seed, quick):
    made = []
    draw = random.Random(seed)
    drawn = (draw.randint(5, 9), draw.randint(9, 20), 2 * draw.randint(0, 3) + 1, draw.random() < 0.5, draw.random())
    asked = [(*shape, "float32" if i == 2 else "float64") for i, shape in enumerate(SHAPES)]
    for i, how in enumerate((*asked, *((*drawn, dtype) for dtype in NEAR if seed))):
        c, o, k, b, eps, dtype = how
        args = c, o, k, b, eps, seed + i, dtype
        conv, norm, _ = layers(*args)
        with torch.no_grad():
            scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
            before = torch.zeros_like(norm.bias) if conv.bias is None else conv.bias
            right = {
                "weight": conv.weight * scale.reshape(-1, 1, 1, 1),
                "bias": (before - norm.running_mean) * scale + norm.bias,
                "the same output": True,
                "changed": "nothing",
            }
        name = f"{c} to {o} channels, kernel {k}{'' if b else ', no bias'}, eps {eps:g}"
        made.append(Case(name, args, right, tolerance=NEAR[dtype]))
    return made


def run_fold(function, args, case):
    conv, norm, x = layers(*args)
    with torch.no_grad():
        right, before = norm(conv(x)), {**all_of("conv", conv), **all_of("norm", norm)}
        weight, bias = function(conv.weight, conv.bias, norm)
        # in double, whatever comes back: that it has weight's type is looked at beside it
        got = nn.functional.conv2d(x.double(), weight.double(), bias.double(), padding=conv.padding)
        after = {**all_of("conv", conv), **all_of("norm", norm)}
        same = bool(torch.allclose(got, right.double(), 1e-5, {"float64": 1e-8, "float32": 1e-3}[args[-1]]))
        return {"weight": weight, "bias": bias, "the same output": same, "changed": changed(before, after)}


def all_of(layer: str, module: nn.Module) -> dict:
    """Everything that a layer is: numbers and flags (training, eps, momentum, ...), tensors in a copy."""
    plain = {name: v for name, v in vars(module).items() if isinstance(v, (bool, int, float, str, tuple, type(None)))}
    tensors = {name: t.detach().clone() for name, t in module.state_dict(keep_vars=True).items()}
    hooks = {name: len(v) for name, v in vars(module).items() if "hooks" in name}
    return {f"{layer}.{name}": value for name, value in {**plain, **tensors, **hooks}.items()}


def changed(before: dict, after: dict) -> str:
    def alike(name):
        one, other = before.get(name), after.get(name)
        if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
            return one.dtype == other.dtype and torch.equal(one, other)
        return type(one) is type(other) and one == other

    return ", ".join(name for name in {**before, **after} if not alike(name)) or "nothing"


def may_cases(seed, quick):
    channels = random.Random(seed)  # of the norm: the task says nothing of them

    def case(name, expected, users=1, training=False, count=None, **how):
        return Case(name, (users, training, count or channels.choice((1, 2, 3, 8, 17, 64)), how), expected)

    def drawn(i, *asked, **how):  # also such as have far more of them
        count = channels.randint(1 << (most := (11, 17, 7, 0)[i % 4]), 2 << most)
        return case(f"drawn, {count} channels", *asked, count=count, **how)

    return [
        case("at rest, one reader", True),
        case("in training mode", False, training=True),
        case("two readers", False, users=2),
        case("five readers", False, users=5),
        case("no running statistics", False, track_running_stats=False),
        case("no gamma and beta", True, affine=False),
        case("in training mode, no statistics", False, training=True, track_running_stats=False),
        *(drawn(i, *asked, **how) for i, (*asked, how) in enumerate(drawn_may(seed))),
    ]


TYPES = ("float32", "float64", "float16", "bfloat16")


def drawn_may(seed):
    """Of a class's seed: norms that may be folded and such that may not, with other numbers of readers, other eps and
    momentum."""
    draw = random.Random(seed)
    readers = draw.randint(3, 9), draw.randint(10, 1 << 20), 1 + 10 ** draw.randint(1, 6)
    asked = [(True, 1, False), (True, 1, False), *((False, n, False) for n in readers), (False, readers[0], True)]

    def norm(device="cpu", dtype="float32"):
        how = {"eps": draw.uniform(1e-6, 1), "momentum": draw.choice((None, 0.01, 0.9)), "affine": draw.random() < 0.5}
        return how | {"device": device, "dtype": dtype}

    # where a norm lies and of which type it is says nothing of whether it may be folded
    elsewhere = [(True, 1, False, norm(device, dtype)) for device in ("meta", "cpu") for dtype in TYPES]
    return [*((*a, norm()) for a in asked), *elsewhere] if seed else []


def run_may(function, args, case):
    users, training, channels, how = args
    how = how | {"dtype": getattr(torch, how.get("dtype", "float32"))}
    return function(nn.BatchNorm2d(channels, **how).train(training), users)


def drawn_chain(draw: random.Random) -> tuple[tuple[str, ...], list[str]]:
    names = tuple(draw.choice(("conv", "norm", "relu", "pool")) for _ in range(draw.randint(4, 9)))
    names += ("conv", "norm", *names[:2])
    return names, [name for i, name in enumerate(names) if name != "norm" or i == 0 or names[i - 1] != "conv"]


def first_cases(seed, quick):
    draw = random.Random(seed)
    return [
        Case(" then ".join(names) or "no operator", (names,), expected)
        for names, expected in (
            (("conv", "norm", "relu"), ["conv", "relu"]),
            (("conv", "relu", "norm"), ["conv", "relu", "norm"]),
            (("norm", "conv", "norm"), ["norm", "conv"]),
            (("conv", "norm", "conv", "norm", "relu"), ["conv", "conv", "relu"]),
            (("conv", "norm", "norm"), ["conv", "norm"]),
            (("norm", "relu", "conv"), ["norm", "relu", "conv"]),
            (("deconv", "norm", "conv", "layer_norm"), ["deconv", "norm", "conv", "layer_norm"]),
            (("norm",), ["norm"]),
            ((), []),
            *(drawn_chain(draw) for _ in range(4 * (seed != 0))),
        )
    ]


def run_first(function, args, case):
    return function(list(args[0]))
