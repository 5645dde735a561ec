"""What a generated kernel may be off: FORMULAS says how far the formulas are, and a wrong kernel is farther off."""

from __future__ import annotations

import re

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from device_lab import simulated  # noqa: E402

from labkit import fusion  # noqa: E402
from labkit.fusion.formulas import FORMULAS, Formulas  # noqa: E402

pytestmark = simulated
FUNCTIONS = {"tanh": torch.tanh, "erf": torch.erf, "gelu": F.gelu, "elu": F.elu}


def arguments(count=20_000):
    g = torch.Generator().manual_seed(14)
    return torch.cat([torch.empty(count).uniform_(-m, m, generator=g) for m in (10, 1, 0.01)])


def test_every_formula_is_tried():
    assert set(FUNCTIONS) == set(FORMULAS)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_is_as_near_as_it_says_and_no_nearer(name):
    """A stated error that is far too large would let wrong kernels pass."""
    x, (places, of_argument) = arguments(), FORMULAS[name]
    got = fusion.kernel(FUNCTIONS[name], (x,), name=f"one_{name}", checks=False)(x.npu()).cpu().double()
    size = x.double().abs() if of_argument else 1.0
    worst = float(((got - FUNCTIONS[name](x.double())).abs() / size).max()) * 2**24
    assert places / 2 < worst <= places, worst


def cancelling(x):
    return torch.tanh(x) - x


def test_where_numbers_cancel_the_formula_counts():
    x = arguments(2000)[-2000:]
    kernel = fusion.kernel(cancelling, (x,), name="cancelling")
    assert kernel.check(x).ok
    with Formulas(0) as seen:
        torch.tanh(x.double())
    assert seen.met
    with Formulas(0) as seen:
        torch.exp(x.double())
    assert not seen.met


@pytest.mark.parametrize("function", [cancelling, lambda x: F.gelu(x) * 3 + torch.erf(x)], ids=["cancelling", "sum"])
def test_a_wrong_kernel_is_still_seen(function):
    """Every constant of the kernel changed by 1e-3 of itself, one after the other: none may pass unseen."""
    x = arguments(300)[300:]
    kernel = fusion.kernel(function, (x,), name="wrong", checks=False)
    text = kernel.source
    found = [m for m in re.finditer(r"(?<=, )-?\d+\.\d+(e-?\d+)?f(?=, )", text) if float(m[0][:-1])]
    assert len(found) >= 3
    for m in found:
        changed = f"{float(m[0][:-1]) * 1.001:.9f}f"
        assert not kernel.use(text=text[: m.start()] + changed + text[m.end() :]).check(x).ok, m[0]
