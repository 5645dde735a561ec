"""For each rule a family of models that it must find, drawn anew each time: around the part stand other operators, its
result is an output too, the residual may be shared, the shapes are odd. Used by test_each_rule.py.

The rule of drawing: rows in 1 to 3 dimensions out of SIZES, width out of WIDTHS, one of three types, one operator
before the part and one behind it out of AROUND. A rule that comes new to RULES needs a family here: a test says so.
"""

from __future__ import annotations

import torch
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

SIZES, WIDTHS = (1, 2, 3, 5, 7, 11), (1, 8, 17, 40)
AROUND = {
    "nothing": lambda x: x,
    "view": lambda x: x.flatten().view(x.shape),
    "tanh": torch.tanh,
    "shifted": lambda x: x + 0.25,
    "changed": lambda x: (x * 1).add_(0.5),  # in place, on memory of its own
    "every other": lambda x: torch.cat([x, x], -1)[..., : x.shape[-1]],
}


class Around(nn.Module):
    def __init__(self, width: int, before: str, behind: str, **how):
        super().__init__()
        self.before, self.behind, self.how = AROUND[before], AROUND[behind], how
        for name in ("a", "b"):
            self.register_parameter(name, nn.Parameter(torch.randn(width, width) / width**0.5))
        self.bias, self.scale = nn.Parameter(torch.randn(width)), nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        made = self.part(self.before(x))
        return self.behind(made)


class SwiGLU(Around):
    def part(self, x):
        gate, up = F.linear(x, self.a), F.linear(x, self.b)
        return up * F.silu(gate) if self.how["turned"] else F.silu(gate) * up


class RMSNorm(Around):
    def part(self, x):
        if not self.how["turned"]:
            return F.rms_norm(x, x.shape[-1:], self.scale, 1e-5)
        wide = x.double() if x.dtype == torch.float64 else x.float()
        return self.scale * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype)


class AddRMSNorm(Around):
    def part(self, x):
        total = x + F.linear(x, self.a)
        normal = F.rms_norm(total, x.shape[-1:], self.scale, 1e-5)
        return normal + total if self.how["turned"] else normal


class AddLayerNorm(Around):
    def part(self, x):
        total = F.linear(x, self.a) + x
        normal = F.layer_norm(total, x.shape[-1:], self.scale, self.bias)
        return normal - total if self.how["turned"] else normal


class BiasGelu(Around):
    def part(self, x):
        return F.gelu((F.linear(x, self.a) if self.how["turned"] else x) + self.bias, approximate="tanh")


class Attention(Around):
    def part(self, x):
        x = x.reshape(x.shape[0], -1, x.shape[-1])
        q, k, v = (t.unsqueeze(1) for t in (F.linear(x, self.a), F.linear(x, self.b), x))
        scores = q @ k.transpose(-1, -2)
        scores = scores / 3.0 if self.how["turned"] else scores * 0.4
        return torch.softmax(scores, -1) @ v


class Focus(Around):
    def __init__(self, width: int, *around, **how):
        super().__init__(width, *around, **how)
        self.kernel = nn.Parameter(torch.randn(4, 4 * how["channels"], how["size"], how["size"]) / 6)
        self.shift = nn.Parameter(torch.randn(4))

    def part(self, x):
        parts = [x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]]
        bias = self.shift if self.how["turned"] else None
        return F.conv2d(torch.cat(parts, 1), self.kernel, bias, 1, self.how["size"] // 2)


class SoftmaxMask(Around):
    def part(self, x):
        scores, mask = x * 0.4 if self.how["turned"] else x / 3.0, self.bias.detach()
        return torch.softmax(scores + mask, -1)


class LinearAct(Around):
    def part(self, x):
        made = F.linear(x, self.a, self.bias)
        return torch.tanh(made + x) if self.how["turned"] else F.relu(made)


FAMILIES = {
    "swiglu": SwiGLU, "swiglu_linear": SwiGLU, "rms_norm": RMSNorm, "add_rms_norm": AddRMSNorm,
    "add_layer_norm": AddLayerNorm, "bias_gelu": BiasGelu, "attention": Attention, "focus_conv": Focus,
    "softmax_mask": SoftmaxMask, "linear_act": LinearAct,
}  # fmt: skip


@st.composite
def members(draw, rule: str):
    """(model, input, type)."""
    torch.manual_seed(draw(st.integers(0, 9999)))
    width, dims = draw(st.sampled_from(WIDTHS)), draw(st.integers(1, 3))
    shape = (*(draw(st.sampled_from(SIZES)) for _ in range(dims)), width)
    how = {"turned": draw(st.booleans())}
    if rule == "focus_conv":
        how |= {"channels": draw(st.integers(1, 3)), "size": draw(st.sampled_from((1, 3)))}
        sides = (2 * draw(st.integers(1, 4)), 2 * draw(st.integers(1, 4)))
        shape = (draw(st.integers(1, 3)), how["channels"], *sides)
    before, behind = draw(st.sampled_from(sorted(AROUND))), draw(st.sampled_from(sorted(AROUND)))
    if rule == "focus_conv" and before == "every other":
        before = "tanh"
    types = [torch.float32, torch.float16, torch.bfloat16]
    dtype = draw(st.sampled_from(types[1:] if rule == "linear_act" else types))
    return FAMILIES[rule](width, before, behind, **how), torch.randn(shape), dtype
