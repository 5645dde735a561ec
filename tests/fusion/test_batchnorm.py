"""Batch norm folded into what is before it: the same numbers for any layer that it claims, and a reason for the others.

How near: the folded layer rounds its weights once more, so each product may be off by a half place of the type, and the
sum by the places of its terms. The bound below is made of those terms, not of the result, which may cancel.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from hypothesis import Phase, given, settings  # noqa: E402
from hypothesis import strategies as st
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from labkit import fusion  # noqa: E402
from labkit.fusion import batchnorm  # noqa: E402
from labkit.fusion.spelling import name_of  # noqa: E402

pytestmark = simulated
NORMS = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
CONVOLUTIONS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
TRANSPOSED = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}


def trained(model: nn.Module, seed: int) -> nn.Module:
    """With the statistics and the parameters that training would have left: no mean 0, no deviation 1."""
    g = torch.Generator().manual_seed(seed)
    for m in model.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            if m.running_mean is not None:
                m.running_mean.copy_(torch.randn(m.num_features, generator=g))
                m.running_var.copy_(torch.rand(m.num_features, generator=g) + 0.1)
            if m.affine:
                with torch.no_grad():
                    m.weight.copy_(torch.randn(m.num_features, generator=g))
                    m.bias.copy_(torch.randn(m.num_features, generator=g))
    return model


def norms_in(module) -> int:
    return sum(name_of(n) == "batch_norm" for n in module.graph.nodes)


@st.composite
def layers(draw):
    """(convolution or linear layer, batch norm, input) in fp64, the type to compute in, the device."""
    seed, kind, dims = draw(st.integers(0, 999)), draw(st.sampled_from("clt")), draw(st.integers(1, 3))
    torch.manual_seed(seed)
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    inputs, outputs = groups * draw(st.integers(1, 4)), groups * draw(st.integers(1, 4))
    bias, affine, batch = draw(st.booleans()), draw(st.booleans()), draw(st.integers(1, 3))
    dtype, where = draw(
        st.sampled_from([(torch.float32, "cpu"), (torch.float64, "cpu"), (torch.float16, "npu"), (torch.bfloat16, "npu"),
                         (torch.float32, "npu")])
    )  # fmt: skip
    if kind == "l":
        layer, norm, x = nn.Linear(inputs, outputs, bias), nn.BatchNorm1d(outputs, affine=affine), (batch, inputs)
    else:
        kernel, stride, padding = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(0, 1))
        how = {"stride": stride, "padding": padding, "groups": groups, "bias": bias}
        if kind == "c" and draw(st.booleans()):
            how |= {"stride": 1, "padding": "same"}
        if kind == "c":
            how["padding_mode"] = draw(st.sampled_from(["zeros", "zeros", "circular"]))
        made = CONVOLUTIONS if kind == "c" else TRANSPOSED
        layer, norm = (
            made[dims](inputs, outputs, kernel, **how),
            NORMS[dims](outputs, affine=affine, eps=draw(st.sampled_from([1e-5, 1e-3]))),
        )
        x = (batch, inputs, *draw(st.lists(st.integers(3, 6), min_size=dims, max_size=dims)))
    return trained(nn.Sequential(layer, norm), seed).double().eval(), torch.randn(x).double(), dtype, where


def terms(model, x) -> torch.Tensor:
    """The sum of the sizes of all that is added up in each element."""
    layer, norm = model
    scale = torch.rsqrt(norm.running_var + norm.eps) * (norm.weight.abs() if norm.affine else 1)
    layer = type(layer).__new__(type(layer))
    layer.__dict__.update({k: v for k, v in model[0].__dict__.items()})
    layer._parameters = {k: None if v is None else nn.Parameter(v.abs()) for k, v in model[0]._parameters.items()}
    shape = [1, -1] + [1] * (x.dim() - 2)
    sums = layer(x.abs()) + norm.running_mean.abs().reshape(shape)
    return sums * scale.reshape(shape) + (norm.bias.abs().reshape(shape) if norm.affine else 0)


def compare(case) -> None:
    model, x, dtype, where = case
    model, want = model.to(dtype).double(), None  # the numbers that the type can hold
    x = x.to(dtype).double()
    with torch.no_grad():
        want, size = model(x), terms(model, x)
        there, given_ = model.to(dtype).to(where), x.to(dtype).to(where)
        made = fusion.fold_batchnorm(there, given_)
        assert made.outcome.replaced == {"conv_bn": 1} and not made.outcome.left and norms_in(made) == 0
        got = made(given_)
    assert got.dtype == dtype and got.shape == want.shape
    off = (got.cpu().double() - want).abs() / (torch.finfo(dtype).eps * size + 1e-300)
    assert off.max() < 4, f"{off.max():.1f} places of the terms"


@settings(max_examples=110, phases=[Phase.generate])
@given(layers())
def test_any_layer(case):
    compare(case)


@pytest.mark.parametrize("broken", ["scale", "mean", "groups"])
def test_wrong_algebra_is_caught(monkeypatch, broken):
    right = batchnorm.fold

    def wrong(w, b, gamma, beta, mean, var, eps, transposed=False, groups=1, like=None):
        if broken == "scale":
            var = var * 1.02
        if broken == "mean" and b is not None:
            mean = mean * 0
        return right(w, b, gamma, beta, mean, var, eps, transposed, 1 if broken == "groups" else groups, like)

    monkeypatch.setattr(batchnorm, "fold", wrong)
    with pytest.raises((AssertionError, RuntimeError)):
        settings(max_examples=60, phases=[Phase.generate])(given(layers())(compare))()


# ---- where it must not be done


class Net(nn.Module):
    def __init__(self, forward, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)
        self._how = forward

    def forward(self, x):
        return self._how(self, x)


def conv(**more):
    return nn.Conv2d(3, 3, 3, padding=1, **more)


REFUSED = {
    "training": (Net(lambda m, x: m.b(m.c(x)), c=conv(), b=nn.BatchNorm2d(3)).train(), "training mode"),
    "no statistics": (Net(lambda m, x: m.b(m.c(x)), c=conv(), b=nn.BatchNorm2d(3, track_running_stats=False)), "no running"),
    "used": (Net(lambda m, x: (lambda y: m.b(y) + y)(m.c(x)), c=conv(), b=nn.BatchNorm2d(3)), "2 operators read"),
    "alone": (Net(lambda m, x: m.b(F.relu(x)), b=nn.BatchNorm2d(3)), "neither a convolution"),
    "changed": (Net(lambda m, x: (lambda y: (y.view(-1).add_(1), m.b(y))[1])(m.c(x)), c=conv(), b=nn.BatchNorm2d(3)), ""),
    "features": (Net(lambda m, x: m.b(m.l(x.flatten(2))), l=nn.Linear(36, 3), b=nn.BatchNorm1d(3)), "dimension 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_left_with_the_reason(name):
    model, why = REFUSED[name]
    if name != "training":
        model.eval()
    trained(model, 1)
    x = torch.randn(2, 3, 6, 6)
    made = fusion.fold_batchnorm(model, x)
    assert not made.outcome.replaced and norms_in(made) == 1
    assert len(made.outcome.left) == 1 and why in made.outcome.left[0], made.outcome.left
    torch.testing.assert_close(made(x), model(x))


def test_folding_in_training_mode_would_be_caught(monkeypatch):
    monkeypatch.setattr(batchnorm, "_why_not_norm", lambda *_: "")
    with pytest.raises(AssertionError):
        test_left_with_the_reason("training")


def test_one_layer_used_twice_and_one_norm_used_twice():
    both = Net(lambda m, x: m.b(m.c(m.b(m.c(x)))), c=conv(), b=nn.BatchNorm2d(3))
    two = Net(
        lambda m, x: m.b2(m.c(m.b(m.c(x)))), c=conv(bias=False), b=nn.BatchNorm2d(3), b2=nn.BatchNorm2d(3, affine=False)
    )
    for model in (both, two):
        trained(model, 3).eval()
        x = torch.randn(2, 3, 6, 6)
        made = fusion.fold_batchnorm(model, x)
        assert made.outcome.replaced == {"conv_bn": 2}
        torch.testing.assert_close(made(x), model(x), rtol=1e-4, atol=1e-4)


def test_a_weight_that_leaves_the_range_of_half():
    model = trained(nn.Sequential(conv(), nn.BatchNorm2d(3)), 2).eval()
    model[1].running_var.fill_(1e-9)
    with torch.no_grad():
        model[1].weight.fill_(1e3)
    made = fusion.fold_batchnorm(model.half().npu(), torch.randn(1, 3, 6, 6).half().npu())
    assert not made.outcome.replaced and "range of float16" in made.outcome.left[0]


def test_any_batch_and_exported_again():
    model = trained(nn.Sequential(conv(), nn.BatchNorm2d(3), nn.ReLU(inplace=True)), 4).eval()
    made = fusion.fold_batchnorm(
        model, torch.randn(2, 3, 8, 8), dynamic_shapes={"input": {0: torch.export.Dim("batch")}}
    )
    assert made.outcome.replaced == {"conv_bn": 1} and not list(made.parameters())
    again = torch.export.export(made, (torch.randn(2, 3, 8, 8),)).module()
    for batch in (1, 5):
        x = torch.randn(batch, 3, 8, 8)
        torch.testing.assert_close(made(x), model(x), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(again(torch.ones(2, 3, 8, 8)), model(torch.ones(2, 3, 8, 8)), rtol=1e-5, atol=1e-5)
