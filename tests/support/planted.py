"""Models made of drawn steps, and the same with one step computed in another way: the source of the difference is known.

The rule: 2 to 5 steps out of STEPS, width and rows drawn; one step that has a variant of the wanted source is replaced
by it. The variants are plain PyTorch and know nothing of labkit.fusion.
"""

from __future__ import annotations

import random

import torch
from torch import nn
from torch.nn import functional as F


class Step(nn.Module):
    """How it is computed: `plain`, or another method by name."""

    PLANTS: dict[str, str] = {}  # method -> source of the difference

    def __init__(self, width: int):
        super().__init__()
        self.how = "plain"
        self.weight, self.bias = nn.Parameter(torch.randn(width, width) / width**0.5), nn.Parameter(torch.randn(width))

    def forward(self, x):
        return getattr(self, self.how)(x)


class Linear(Step):
    PLANTS = {"backwards": "order", "in_parts": "order", "no_bias": "wrong", "turned": "wrong"}

    def plain(self, x):
        return F.linear(x, self.weight, self.bias)

    def backwards(self, x):
        return F.linear(x.flip(-1), self.weight.flip(-1), self.bias)

    def in_parts(self, x):  # split-k, the parts added up in float
        parts = zip(x.float().chunk(4, -1), self.weight.float().chunk(4, -1))
        total = sum((F.linear(a, b) for a, b in list(parts)[::-1]), self.bias.float() * 0)
        return (total + self.bias.float()).to(x.dtype)

    def no_bias(self, x):
        return F.linear(x, self.weight)

    def turned(self, x):
        return F.linear(x, self.weight.T, self.bias)


class Residual(Step):  # a branch and what goes past it
    PLANTS = {"in_float": "rounding", "tanh_form": "approximation", "dropped": "wrong"}

    def plain(self, x):
        return x + F.gelu(x)

    def in_float(self, x):
        return (x.float() + F.gelu(x.float())).to(x.dtype)

    def tanh_form(self, x):
        return x + F.gelu(x, approximate="tanh")

    def dropped(self, x):
        return F.gelu(x)


class Gate(Step):
    PLANTS = {"in_float": "rounding", "short_exp": "approximation", "other_axis": "wrong"}

    def plain(self, x):
        return F.silu(x) * x.roll(1, -1)

    def in_float(self, x):
        return (F.silu(x.float()) * x.roll(1, -1).float()).to(x.dtype)

    def short_exp(self, x):  # exp(-x) as (1 - x / 2^10) ^ 2^10
        e = 1 - x.float() / 1024
        for _ in range(10):
            e = e * e
        return (x.float() / (1 + e)).to(x.dtype) * x.roll(1, -1)

    def other_axis(self, x):
        return F.silu(x) * x.roll(1, -2)


class Change(Step):  # an alias
    PLANTS = {"alias_ignored": "wrong"}

    def plain(self, x):
        y = x * 2
        s = torch.sigmoid(y)
        y.view(-1).mul_(0.5)
        return s * y

    def alias_ignored(self, x):
        y = x * 2
        return torch.sigmoid(y) * y


class Centre(Step):
    PLANTS = {"backwards": "order", "other_axis": "wrong"}

    def plain(self, x):
        return x - x.sum(-1, keepdim=True) * 0.125

    def backwards(self, x):
        return x - (x.float().flip(-1).cumsum(-1)[..., -1:]).to(x.dtype) * 0.125

    def other_axis(self, x):
        return x - x.sum(-2, keepdim=True) * 0.125


class Wide(Step):  # in float, whatever the type
    PLANTS = {"in_16_bits": "rounding"}

    def plain(self, x):
        return (torch.tanh(x.float()) + x.float() * 0.5).to(x.dtype)

    def in_16_bits(self, x):
        return torch.tanh(x) + x.float() * 0.5 if x.dtype == torch.float32 else torch.tanh(x) + x * 0.5


class Norm(Step):
    PLANTS = {"no_weight": "wrong", "other_eps": "approximation"}

    def plain(self, x):
        return F.layer_norm(x, x.shape[-1:], self.bias + 2, None, 1e-5)

    def no_weight(self, x):
        return F.layer_norm(x, x.shape[-1:], None, None, 1e-5)

    def other_eps(self, x):
        return F.layer_norm(x, x.shape[-1:], self.bias + 2, None, 1e-3)


STEPS = (Linear, Residual, Gate, Change, Centre, Wide, Norm)
TYPES = {
    "order": (torch.float32, torch.float32, torch.float16),
    "rounding": (torch.float16, torch.bfloat16),
    "approximation": (torch.float32,),  # in 16 bits rounding hides it
    "wrong": (torch.float16, torch.bfloat16, torch.float32),
}


def case(source: str, seed: int):
    """(before, after, input on the CPU, place of the planted step, name of the variant)."""
    draw = random.Random(f"{source} {seed}")
    torch.manual_seed(draw.randrange(10**6))
    width = draw.choice((16, 40, 96))
    kinds = [draw.choice(STEPS) for _ in range(draw.randint(2, 5))]
    may = [k for k in STEPS if source in k.PLANTS.values()]
    at = draw.randrange(len(kinds))
    kinds[at] = draw.choice(may)
    how = draw.choice([m for m, s in kinds[at].PLANTS.items() if s == source])
    dtype = draw.choice(TYPES[source])
    before, after = nn.Sequential(*(k(width) for k in kinds)), nn.Sequential(*(k(width) for k in kinds))
    after.load_state_dict(before.state_dict())
    after[at].how = how
    x = torch.randn(draw.choice((3, 8)), draw.choice((5, 16)), width)
    return before.to(dtype), after.to(dtype), x.to(dtype), at, f"{kinds[at].__name__}.{how}"
