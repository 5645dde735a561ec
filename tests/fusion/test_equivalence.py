"""labkit.fusion.compare names the source of a planted difference, and the operator where it begins. See planted.py."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from planted import case  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from labkit import fusion  # noqa: E402
from labkit.fusion import equivalence, rounded  # noqa: E402

pytestmark = simulated
SEEDS = range(100, 110)


def step_of(before, x, name: str) -> str:
    """The step of the model in which an operator of its graph stands."""
    nodes = {n.name: n for n in equivalence.graph_of(before, (x,)).graph.nodes}
    stack = nodes[name].meta.get("nn_module_stack") if name in nodes else None
    return next(reversed(stack.values()))[0].rpartition(".")[2] if stack else ""


@pytest.mark.parametrize("source", ["order", "rounding", "approximation", "wrong"])
def test_planted(source):
    said = []
    for seed in SEEDS:
        before, after, x, at, name = case(source, seed)
        before, after, x = before.npu(), after.npu(), x.npu()
        same = fusion.compare(before, after, x)
        if same.source == "none":  # the planted change moves no bit here
            continue
        said.append((same.source == source and step_of(before, x, same.where) == str(at), seed, name, same))
        if source in ("order", "wrong"):
            assert same.ok == (source == "order"), said[-1]
    assert len(said) >= 6 and all(s[0] for s in said), [s[1:] for s in said if not s[0]]


class Closed:
    """Something to call that is no graph."""

    def __init__(self, f):
        self.f = f

    def __call__(self, *inputs):
        return self.f(*inputs)


@pytest.mark.parametrize("source", ["rounding", "wrong"])
def test_planted_behind_a_function(source):
    """Of `after` only results are known."""
    for seed in SEEDS[:5]:
        before, after, x, at, name = case(source, seed)
        before, after, x = before.npu(), after.npu(), x.npu()
        same = fusion.compare(before, Closed(after), x)
        assert same.source in (source, "none"), (seed, name, same)
        if same.source == "rounding":
            assert step_of(before, x, same.where) == str(at), (seed, name, same)


def chain(x, y):
    return F.silu(x) * y + x


def pair(dtype, rows=12, width=40):
    g = torch.Generator().manual_seed(3)
    return [torch.randn(rows, width, generator=g).to(dtype).npu() for _ in range(2)]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_generated_kernel_rounds_once(dtype):
    x, y = pair(dtype)
    once, every = (fusion.kernel(chain, (x, y), rounding=r, name="same") for r in ("once", "every"))
    same = fusion.compare(chain, once, x, y)
    assert same.ok and same.source == "rounding" and same.intermediates == ("silu", "mul") and same.gain > 1.1
    assert fusion.compare(chain, every, x, y).gain < 1.05
    assert "silu, mul" in repr(same) and "3 results are rounded" in same.reason


def test_the_order_of_a_long_sum_and_its_tolerance():
    weight, x = torch.randn(8, 4096).npu(), torch.randn(16, 4096).npu()
    same = fusion.compare(lambda x: F.linear(x, weight), lambda x: F.linear(x.flip(-1), weight.flip(-1)), x)
    assert same.ok and same.source == "order" and same.longest == 4096 and same.where == "linear"


def test_a_rounding_that_half_cannot_hold():
    x = torch.full((4, 40), 300.0).half().npu()

    def square(x):
        return (x * x) * 0.001

    same = fusion.compare(square, lambda x: ((x.float() * x.float()) * 0.001).half(), x)
    assert same.source == "rounding" and same.where == "mul" and same.ok


def test_a_folded_norm_rounds_its_weight():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8)).eval()
    model[1].running_mean.normal_()
    model[1].running_var.uniform_(0.5, 2)
    model, x = model.half().npu(), torch.randn(2, 4, 9, 9).half().npu()
    same = fusion.compare(model, fusion.fuse(model, x), x)
    assert same.ok and same.source == "rounding", same


def test_without_rounding_nothing_is_explained(monkeypatch):
    """The detector itself, broken."""
    monkeypatch.setattr(rounded, "rounds", lambda node: False)
    monkeypatch.setattr(equivalence, "narrow", lambda nodes: [])
    x, y = pair(torch.float16)
    assert fusion.compare(chain, fusion.kernel(chain, (x, y), name="same"), x, y).source != "rounding"


def test_what_cannot_be_compared():
    x = torch.ones(3, 4)
    with pytest.raises(ValueError, match="same shapes"):
        fusion.compare(lambda x: x + 1, lambda x: x[0] + 1, x)
    with pytest.raises(RuntimeError, match="graph"):
        fusion.compare(lambda x: x + 1 if x.sum() > 0 else x, lambda x: x + 1, x)
