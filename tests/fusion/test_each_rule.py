"""Each rule on 100 drawn models (25 unless LABKIT_DRAWN=all) that it must find (families.py): outputs and, where it
claims to train, gradients.

How near: labkit.fusion's own tolerance is not used here. Both ways are compared with the model in double; the fused one
may be off three times as far as PyTorch's own operators are, plus some places of the largest number.
"""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from drawn import examples  # noqa: E402
from families import FAMILIES, members  # noqa: E402
from hypothesis import Phase, given, settings  # noqa: E402

from labkit.fusion import passes, rules, rules_fused, spelling  # noqa: E402

pytestmark = simulated
EXAMPLES = examples(100)


# For inference only, of weights that are constants: tests/operators/test_conv_bn_act.py draws its models.
OF_CONSTANTS = {"conv_bn_act"}


def test_every_rule_has_a_family():
    assert set(rules.RULES) - OF_CONSTANTS == set(FAMILIES), (
        "a rule without drawn models is not tried: tests/support/families.py"
    )


def near(got, plain, want, dtype, what) -> None:
    got, plain, want = (t.detach().cpu().double() for t in (got, plain, want))
    if not want.numel():
        return
    allowed = 3 * float((plain - want).abs().max()) + 16 * torch.finfo(dtype).eps * (float(want.abs().max()) + 1e-30)
    assert got.isfinite().all() and float((got - want).abs().max()) <= allowed, what


def run(case, rule, must_find=True, gradients=True) -> None:
    model, x, dtype = case
    with torch.no_grad():
        wide, x = copy.deepcopy(model).to(dtype).double(), x.to(dtype)
    plain = model.to(dtype).npu()
    inputs = [x.double(), x.npu(), x.npu()]
    for t in inputs:
        t.requires_grad_(gradients)
    program = spelling.capture(plain, (inputs[2],))
    outcome = passes.apply(program, [rule])
    assert not must_find or outcome.replaced == {rule.name: 1}, outcome
    outs = [f(t) for f, t in zip((wide, plain, program), inputs)]
    near(outs[2], outs[1], outs[0], dtype, "output")
    if not gradients or (x.shape[-1] == 1 and "norm" in rule.name):
        return  # of one element a norm's gradient cancels down to eps: no tolerance of the result's holds for it
    grads = []
    for f, out, t in zip((wide, plain, program), outs, inputs):
        for p in f.parameters():
            p.grad = None
        small = out * (0.01 if dtype == torch.float16 else 0.1)  # half has room for the gradients
        (small if out.dtype == torch.float64 else small.float()).square().sum().backward()
        named = sorted((n, p.grad) for n, p in f.named_parameters() if p.grad is not None)
        grads.append({"input": t.grad} | dict(named))
    for name in grads[0]:
        if all(name in g for g in grads):
            near(grads[2][name], grads[1][name], grads[0][name], dtype, f"gradient of {name}")


@pytest.mark.parametrize("name", FAMILIES)
def test_each_rule(name, monkeypatch):
    monkeypatch.setattr(rules_fused, "pays", lambda *size: True)  # models here are smaller than where it does
    rule, found = rules.RULES[name], []
    assert rule.trains

    @settings(max_examples=EXAMPLES, phases=[Phase.generate], database=None)
    @given(members(name))
    def each(case):
        run(case, rule)
        found.append(1)

    each()
    assert len(found) >= 0.95 * EXAMPLES  # small spaces give fewer different ones


# ---- passes that are known to be wrong, each on the family of its rule


def _other(name: str, build) -> passes.Rule:
    right = rules.RULES[name]
    return passes.Rule(name, right.patterns, right.why_not, build)


def _drops_a_branch(match, gate, up):
    return passes.call(match.output_node().graph, spelling.aten.silu.default, gate)


def _forgets_the_bias(match, x, bias):
    graph = match.output_node().graph
    zero = passes.call(graph, spelling.aten.mul.Tensor, bias, 0.0)
    return rules.RULES["bias_gelu"].build(match, x, zero)


def _other_eps(match, x, weight, eps, shape=None):
    return rules.RULES["rms_norm"].build(match, x, weight, 0.1, shape)


def _no_scale(match, q, turned, v, times=1.0, by=1.0):
    return rules.RULES["attention"].build(match, q, turned, v)


def _drops_the_residual(match, x, residual, shape, weight, eps, bias=None):
    return rules.RULES["add_rms_norm"].build(match, x, x, shape, weight, eps, bias)


def _swaps_the_sides(match, x, weight, bias, stride, padding, dilation, groups):
    turned = passes.call(match.output_node().graph, spelling.aten.transpose.int, weight, 2, 3)
    return rules.RULES["focus_conv"].build(match, x, turned, bias, stride, padding, dilation, groups)


def _detached(match, gate, up):
    graph = match.output_node().graph
    return rules.RULES["swiglu"].build(match, passes.call(graph, spelling.aten.detach.default, gate), up)


WRONG = {
    "drops a branch": ("swiglu", _drops_a_branch),
    "forgets the bias": ("bias_gelu", _forgets_the_bias),
    "another eps": ("rms_norm", _other_eps),
    "no scale": ("attention", _no_scale),
    "drops the residual": ("add_rms_norm", _drops_the_residual),
    "swaps the sides": ("focus_conv", _swaps_the_sides),
    "right, but without a gradient": ("swiglu", _detached),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_wrong_pass_is_caught(how):
    name, build = WRONG[how]
    with pytest.raises((AssertionError, RuntimeError)):
        settings(max_examples=30, phases=[Phase.generate], database=None)(
            given(members(name))(lambda case: run(case, _other(name, build), must_find=False))
        )()
