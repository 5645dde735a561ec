"""The rules: models drawn from blocks give the same numbers with and without them, and the same gradients.

How near: both ways are compared with the same model in double on the CPU. The fused one may be off three times as far
as PyTorch's own operators are, plus some places of the largest number.
"""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from drawn import examples  # noqa: E402
from hypothesis import Phase, given, settings  # noqa: E402
from hypothesis import strategies as st
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from labkit import fusion  # noqa: E402
from labkit.fusion import compiled, passes, rules
from labkit.fusion import spelling as graph  # noqa: E402

pytestmark = simulated
WIDTH = (8, 16, 40)


# ---- blocks on rows [batch, length, width], each with something that a rule looks for or must leave alone


class SwiGLU(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate, self.up, self.down = (nn.Linear(width, width, bias=False) for _ in range(3))

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Shared(SwiGLU):  # the activated gate is needed twice
    def forward(self, x):
        s = F.silu(self.gate(x))
        return self.down(s * self.up(x)) + s


class Changed(SwiGLU):  # the gate changes, through a view of it, after its activation was computed
    def forward(self, x):
        g = self.gate(x)
        s = F.silu(g)
        g.view(-1).mul_(0.5)
        return self.down(s * g)


class ChangedUp(SwiGLU):  # the other factor changes between the activation and the product
    def forward(self, x):
        g, u = self.gate(x), self.up(x)
        s = F.silu(g)
        g[..., 0] = 2.0
        return self.down(s * u) + g


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.part, self.norm = nn.Linear(width, width), nn.RMSNorm(width, eps=1e-5)

    def forward(self, x):
        y = x + self.part(x)
        return self.norm(y) + y


class PostNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.part, self.norm = nn.Linear(width, width), nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(self.part(x) + x)


class LlamaNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        wide = x.to(torch.float64 if x.dtype == torch.float64 else torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


class Gelu(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x):
        return F.gelu(x + self.bias, approximate="tanh")


class ExactGelu(Gelu):  # the operator computes the other form
    def forward(self, x):
        return F.gelu(x + self.bias)


class ScaledGelu(Gelu):  # the sum has another argument
    def forward(self, x):
        return F.gelu(torch.add(x, self.bias, alpha=2), approximate="tanh")


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (4, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        return (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)


class Weighed(Attention):  # the shares are an output too
    def forward(self, x):
        q, k, v = (t.unflatten(-1, (4, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        shares = torch.softmax(q @ k.transpose(-1, -2) * 0.3, -1)
        return (shares @ v).transpose(1, 2).flatten(2) + shares.sum((1, 2)).mean(-1)[:, None, None]


BLOCKS = {
    SwiGLU: "swiglu", Shared: None, Changed: None, ChangedUp: None, Residual: "add_rms_norm", PostNorm: "add_layer_norm",
    LlamaNorm: "rms_norm", Gelu: "bias_gelu", ExactGelu: None, ScaledGelu: None, Attention: "attention",
    Weighed: "softmax_mask",
}  # fmt: skip


@st.composite
def models(draw, most=2, blocks=tuple(BLOCKS)):
    torch.manual_seed(draw(st.integers(0, 999)))
    width = draw(st.sampled_from(WIDTH))
    kinds = draw(st.lists(st.sampled_from(blocks), min_size=1, max_size=most))
    dtype = draw(st.sampled_from([torch.float32, torch.float32, torch.float16, torch.bfloat16]))
    shape = (draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 7])), width)
    return nn.Sequential(*[kind(width) for kind in kinds]), torch.randn(shape), dtype


def expected(model) -> dict[str, int]:
    names = [BLOCKS[type(block)] for block in model]
    return {name: names.count(name) for name in names if name}


def near(got, plain, want, dtype, what) -> None:
    got, plain, want = (t.detach().cpu().double() for t in (got, plain, want))
    most = float(want.abs().max()) + 1e-30
    allowed = 3 * float((plain - want).abs().max()) + 16 * torch.finfo(dtype).eps * most
    assert got.isfinite().all() and float((got - want).abs().max()) <= allowed, what


def compare(case, gradients=False, how=None) -> None:
    model, x, dtype = case
    with torch.no_grad():  # all three ways start from numbers that the type can hold
        wide = copy.deepcopy(model).to(dtype).double()
        x = x.to(dtype)
    plain, inputs = model.to(dtype).npu(), [x.double(), x.npu(), x.npu()]
    for t in inputs:
        t.requires_grad_(gradients)
    program = graph.capture(plain, (inputs[2],))
    outcome = passes.apply(program, how or compiled.rules_by_name(None))
    if how is None:
        assert dict(outcome.replaced) == expected(model), outcome
    outs = [wide(inputs[0]), plain(inputs[1]), program(inputs[2])]
    near(outs[2], outs[1], outs[0], dtype, "output")
    if not gradients:
        return
    grads = []
    for f, out, t in zip((wide, plain, program), outs, inputs):
        for p in f.parameters():
            p.grad = None
        out.float().square().sum().backward() if out.dtype != torch.float64 else out.square().sum().backward()
        grads.append([t.grad, *(p.grad.clone() for _, p in sorted(f.named_parameters()))])
    for trio in zip(*grads):
        near(trio[2], trio[1], trio[0], dtype, "gradient")


@settings(max_examples=examples(100), phases=[Phase.generate])
@given(models())
def test_any_model(case):
    compare(case)


@settings(max_examples=25, phases=[Phase.generate])
@given(models(blocks=[b for b in BLOCKS if b not in (Changed, ChangedUp)]))  # autograd refuses those itself
def test_gradients(case):
    compare(case, gradients=True)


# ---- passes that are known to be wrong are caught


def caught(how=None, examples=60) -> None:
    with pytest.raises((AssertionError, RuntimeError)):
        settings(max_examples=examples, phases=[Phase.generate])(given(models())(lambda case: compare(case, how=how)))()


def test_a_pass_that_drops_a_branch():
    def build(match, gate, up):
        return passes.call(match.output_node().graph, graph.aten.silu.default, gate)  # * up is lost

    right = rules.RULES["swiglu"]
    caught([passes.Rule("swiglu", right.patterns, right.why_not, build)])


def test_a_pass_that_ignores_an_alias(monkeypatch):
    monkeypatch.setattr(graph, "changes", lambda node: False)
    with pytest.raises(AssertionError):
        for kind in (Changed, ChangedUp):
            torch.manual_seed(1)
            compare((nn.Sequential(kind(16)), torch.randn(2, 3, 16), torch.float32), how=[rules.RULES["swiglu"]])


def test_a_pass_that_ignores_an_argument(monkeypatch):
    right = rules.RULES["bias_gelu"]
    wrong = passes.Rule("bias_gelu", right.patterns, lambda match, x, bias: rules.missing("bias_gelu"), right.build)
    with pytest.raises(AssertionError):
        compare((nn.Sequential(ScaledGelu(16)), torch.randn(2, 3, 16), torch.float32), how=[wrong])


# ---- what is left says why


@pytest.mark.parametrize("kind, why", [(Shared, "elsewhere"), (lambda w: SwiGLU(w).double(), "float64")])
def test_left_with_the_reason(kind, why):
    model = nn.Sequential(kind(16)).npu()
    x = torch.randn(2, 3, 16, dtype=next(model.parameters()).dtype).npu()
    made = fusion.fuse(model, x)
    assert not made.outcome.replaced and any(why in said for said in made.outcome.left), made.outcome.left


class Focus(nn.Module):
    def __init__(self, channels=3, out=8, kernel=3, bias=True):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4 * channels, out, kernel, 1, kernel // 2, bias=bias), nn.BatchNorm2d(out)

    def forward(self, x):
        parts = [x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]]
        return F.silu(self.norm(self.conv(torch.cat(parts, 1))), inplace=True)


@settings(max_examples=12, phases=[Phase.generate])
@given(st.integers(1, 4), st.sampled_from([1, 3, 5]), st.booleans(), st.integers(1, 5), st.integers(1, 5))
def test_focus(channels, kernel, bias, rows, columns):
    torch.manual_seed(channels)
    model, x = Focus(channels, 8, kernel, bias).eval(), torch.randn(2, channels, 2 * rows, 2 * columns)
    made = fusion.fuse(model, x)
    assert dict(made.outcome.replaced) == {"conv_bn": 1, "focus_conv": 1}
    torch.testing.assert_close(made(x), model(x), rtol=1e-4, atol=1e-5)


def test_focus_of_odd_sides_is_left():
    model = nn.Sequential(nn.Conv2d(12, 8, 3, 1, 1))
    module = graph.capture(Focus().eval(), (torch.randn(1, 3, 8, 8),))
    for node in module.graph.find_nodes(op="placeholder"):
        node.meta["val"] = node.meta["val"].new_empty(1, 3, 7, 8)
    outcome = passes.apply(module, [rules.RULES["focus_conv"]])
    assert not outcome.replaced and "even" in outcome.left[0] and model is not None


def test_focus_of_a_part_of_the_image_is_left():
    class Part(Focus):
        def forward(self, x):
            return self.conv(torch.cat([x[..., r:8:2, c::2] for r, c in ((0, 0), (1, 0), (0, 1), (1, 1))], 1))

    model, x = Part().eval(), torch.randn(1, 3, 16, 16)
    made = fusion.fuse(model, x)
    assert "focus_conv" not in made.outcome.replaced and any("end before" in why for why in made.outcome.left)
    assert torch.equal(made(x), model(x))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("residual", [False, True])
def test_the_norm_s_own_eps_is_float32_s(dtype, residual):
    """Of numbers so small that eps decides: PyTorch takes the eps of the type that it computes in."""
    torch.manual_seed(0)
    x, w = (1e-3 * torch.randn(4, 64)).to(dtype), torch.ones(64, dtype=dtype)

    class Norm(nn.Module):
        def forward(self, x, w):
            whole = x + x if residual else x
            return F.rms_norm(whole, (64,), w), whole + 1.0

    made = fusion.fuse(Norm(), x.npu(), w.npu())
    assert dict(made.outcome.replaced) == {"add_rms_norm" if residual else "rms_norm": 1}
    torch.testing.assert_close(made(x.npu(), w.npu())[0].cpu(), Norm()(x, w)[0], rtol=0.02, atol=0.01)
