"""A part that loses digits by being fused is found by measuring, and the policy does what it says."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from labkit import fusion  # noqa: E402
from labkit.fusion import passes, rules  # noqa: E402

pytestmark = simulated
HALF = torch.float16


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def edges(seed: int, dtype=HALF):
    """Filters whose weights add up to zero, on an image with an offset: what the folded weight rounds, the offset
    multiplies. Weights and image are exact in the type."""
    g = torch.Generator().manual_seed(seed)
    model = nn.Sequential(nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4)).eval()
    w = torch.randint(-7, 8, (4, 2, 3, 3), generator=g).float()
    w[:, 0, 0, 0] -= w.sum((1, 2, 3))
    with torch.no_grad():
        model[0].weight.copy_(w / 8)
        model[1].running_var.copy_(torch.rand(4, generator=g) + 0.3)
        model[1].weight.copy_(torch.rand(4, generator=g) + 0.5)
    offset = 100 if dtype == HALF else 12
    x = torch.randint(0, 8, (2, 2, 9, 9), generator=g).float() / 8 + offset
    return model.to(dtype).npu(), x.to(dtype).npu()


def off(model, made, x) -> tuple[float, float]:
    """Root mean square against double: of the model, of what was made of it."""
    with torch.no_grad():
        want = copy.deepcopy(model).cpu().double()(x.cpu().double())
        return tuple(float((t.cpu().double() - want).square().mean().sqrt()) for t in (model(x), made(x)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dtype", [HALF, torch.bfloat16])
def test_a_fold_that_loses(seed, dtype):
    model, x = edges(seed, dtype)
    for how, decision, replaced in (
        (None, None, 1), ("report", "report", 1), ("unfused", "unfused", 0), ("fp32", "fp32", 1)
    ):  # fmt: skip
        made = fusion.fuse(model, x, precision=how, rules=[])  # the fold alone
        assert [j.decision for j in made.outcome.judged] == ([decision] if decision else [])
        assert made.outcome.count == replaced and bool(made.outcome.left) == (decision == "unfused")
        plain, fused = off(model, made, x)
        assert (fused > 8 * plain) == (replaced == 1 and decision != "fp32"), (how, plain, fused)
        for j in made.outcome.judged:
            assert j.before == pytest.approx(plain, rel=0.2) and j.times > 8 and "batch_norm" in repr(j)


def test_a_fold_that_does_not_lose_is_fused():
    torch.manual_seed(2)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)).eval()
    model[1].running_mean.normal_()
    x = torch.randn(2, 3, 9, 9).half().npu()
    made = fusion.fuse(model.half().npu(), x, precision=fusion.Precision("unfused", loses=3.0), rules=[])
    assert [j.decision for j in made.outcome.judged] == ["fused"] and made.outcome.replaced == {"conv_bn": 1}


class Gains(nn.Module):
    """Fused, each of these rounds less than its chain."""

    def __init__(self, width=40):
        super().__init__()
        self.gate, self.up = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x):
        return F.gelu(F.silu(self.gate(x)) * self.up(x) + self.bias, approximate="tanh")


@pytest.mark.parametrize("dtype", [HALF, torch.bfloat16])
def test_what_gains_is_fused(dtype):
    torch.manual_seed(5)
    model, x = Gains().to(dtype).npu(), torch.randn(6, 40).to(dtype).npu()
    for how in ("fp32", "unfused"):
        made = fusion.fuse(model, x, precision=how)
        judged = {j.rule: j for j in made.outcome.judged}
        assert set(judged) == {"swiglu", "bias_gelu"} and made.outcome.count == 2
        assert all(j.decision == "fused" and j.times < 1 for j in judged.values()), judged


def test_any_rule_that_loses():
    """A planted operator that computes in 16 bits what the chain computes better."""
    right = rules.RULES["swiglu"]

    def coarse(match, gate, up):
        graph = match.output_node().graph
        short = passes.call(graph, torch.ops.aten.to.dtype, gate, torch.bfloat16, False, False, None)
        s = passes.call(graph, torch.ops.aten.silu.default, short)
        s = passes.call(graph, torch.ops.aten.to.dtype, s, HALF, False, False, None)
        return passes.call(graph, torch.ops.aten.mul.Tensor, s, up)

    wrong = passes.Rule("swiglu", right.patterns, lambda match, gate, up: "", coarse)
    from labkit.fusion import compiled, precision

    g, u = (torch.randn(8, 40).half().npu() for _ in range(2))
    for choice, count in (("unfused", 0), ("report", 1)):
        module = fusion.capture(rules_model(), (g, u))
        judge = precision.Judge(fusion.Precision(choice), module, [g, u], compiled._attribute, compiled._folded_part)
        outcome = passes.apply(module, [wrong], judge)
        assert outcome.count == count and outcome.judged[0].decision == choice, outcome


def rules_model():
    class Gate(nn.Module):
        def forward(self, g, u):
            return F.silu(g) * u

    return Gate()


@pytest.mark.parametrize("how, decision", [("fp32", "fp32"), ("unfused", "unfused"), ("report", "report")])
def test_as_a_backend(how, decision):
    model, x = edges(3)
    backend = fusion.backend(precision=how)
    compiled = torch.compile(model, backend=backend, dynamic=True)
    with torch.no_grad():
        for batch in (2, 5, 3):
            y = torch.cat([x] * 3)[:batch]
            plain, fused = off(model, compiled, y)
            assert (fused > 8 * plain) == (how == "report")
    assert [j.decision for j in backend.outcome.judged] == [decision] * backend.graphs and backend.recompiled <= 1


def test_a_backend_that_trains_under_a_policy():
    torch.manual_seed(0)
    model, x = Gains().half().npu(), torch.randn(6, 40).half().npu()
    backend = fusion.backend(precision="fp32")
    out = torch.compile(model, backend=backend)(x)
    out.float().square().sum().backward()
    assert backend.outcome.count == 2 and all(p.grad is not None for p in model.parameters())


def test_a_policy_that_there_is_not():
    with pytest.raises(ValueError, match="looser.*fp32"):
        fusion.backend(precision="looser")


@pytest.mark.parametrize("loses", [-1.0, float("nan")])
def test_a_limit_that_no_part_could_keep_is_refused(loses):
    with pytest.raises(ValueError, match="from 0"):
        fusion.Precision("fp32", loses=loses)
