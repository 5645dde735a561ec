"""Element-wise functions of the advanced API against torch in float64:
within one unit in the last place of their type.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from same import equal  # noqa: E402
from twin_adv import TORCH, agree, asked, factor, kernel, launch, sizes

MOST = 3000
some = settings(max_examples=12, deadline=None)


def gelu(x):
    return x / (1 + torch.exp(-1.5957691216057308 * (x + 0.044715 * x**3)))


def faster_gelu_v2(x):
    x1 = -0.1444 * (torch.clip(torch.abs(0.7071 * x), max=1.769) - 1.769) ** 2 + 0.5
    return x * ((x + 1e-12) / torch.abs(x + 1e-12) * x1 + 0.5)


def h(x):  # what one instruction on half leaves
    return x.half().double()


def half_logistic(x, steepness):
    return h(1 + h(torch.exp(h(x * -h(torch.tensor(steepness, dtype=torch.float64))))))


def half_gelu(x):
    y = h(h(x + h(h(x * h(x * x)) * h(torch.tensor(0.044715)))) * h(torch.tensor(1.5957691216057308)))
    return h(h(x / half_logistic(torch.abs(y), 1.0)) * h(torch.exp(torch.clamp(y, max=0))))


# What CANN computes in half a vector instruction at a time, without a way through float.
IN_HALF = {
    "Sigmoid": lambda x: h(1 / half_logistic(x, 1.0)),
    "Silu": lambda x: h(x / half_logistic(x, 1.0)),
    "FasterGelu": lambda x: h(x / half_logistic(x, 1.702)),
    "Gelu": half_gelu,
    "Log10": lambda x: h(h(torch.log(x)) * h(torch.tensor(0.43429448190325176))),
    "Swish": lambda x, y, v: h(x / half_logistic(x, v)),
}


def floats(low, high):
    return lambda rng, n: rng.uniform(low, high, n)


def wide(low, high):  # of every magnitude and both signs
    return lambda rng, n: rng.choice([-1.0, 1.0], n) * 2.0 ** rng.uniform(low, high, n)


def positive(low, high):
    return lambda rng, n: 2.0 ** rng.uniform(low, high, n)


DIGAMMA_ZERO = 1.4616321449683623
ANY = wide(-20, 14)
# number in tests/twin/kernels/adv_math.asc, formula, where the argument comes from
ONE = {
    "Tanh": (0, torch.tanh, ANY),
    "Sin": (1, torch.sin, wide(-20, 15.9)),
    "Cos": (2, torch.cos, wide(-20, 15.9)),
    "Tan": (3, torch.tan, wide(-20, 15.9)),
    "Asin": (4, torch.asin, floats(-1, 1)),
    "Acos": (5, torch.acos, floats(-1, 1)),
    "Atan": (6, torch.atan, ANY),
    "Sinh": (7, torch.sinh, wide(-14, 6.4)),
    "Cosh": (8, torch.cosh, wide(-14, 6.4)),
    "Asinh": (9, torch.asinh, ANY),
    "Acosh": (10, torch.acosh, lambda rng, n: 1 + 2.0 ** rng.uniform(-10, 14, n)),
    "Atanh": (11, torch.atanh, floats(-1, 1)),
    "Erf": (12, torch.erf, wide(-14, 3)),
    "Erfc": (13, torch.erfc, wide(-14, 3.2)),
    "Frac": (14, torch.frac, ANY),
    "Sign": (15, torch.sign, ANY),
    "Trunc": (16, torch.trunc, ANY),
    "Log2": (17, torch.log2, positive(-14, 15)),
    "Lgamma": (18, torch.lgamma, positive(-10, 14)),
    "Digamma": (19, torch.digamma, positive(-10, 14)),
    "Floor": (20, torch.floor, ANY),
    "Ceil": (21, torch.ceil, ANY),
    "Round": (22, torch.round, wide(-3, 8)),
    "Gelu": (23, gelu, wide(-10, 5)),
    "FasterGelu": (24, lambda x: x / (1 + torch.exp(-1.702 * x)), wide(-10, 5)),
    "FasterGeluV2": (25, faster_gelu_v2, wide(-10, 5)),
    "Sigmoid": (26, torch.sigmoid, wide(-10, 6)),
    "Log": (30, torch.log, positive(-14, 15)),
    "Log10": (31, torch.log10, positive(-14, 15)),
    "Silu": (32, lambda x: x * torch.sigmoid(x), wide(-10, 6)),
    "ExpTaylor": (43, torch.exp, wide(-10, 3.4)),
    "Exp": (44, torch.exp, wide(-10, 3.4)),
    "GeluInFloat": (45, gelu, wide(-10, 5)),
    "LgammaLeft": (18, torch.lgamma, floats(-30, 0)),
    "DigammaLeft": (19, torch.digamma, floats(-30, 0)),
}
# of x, y and a scalar v
TWO = {
    "Swish": (33, lambda x, y, v: x * torch.sigmoid(v * x), ANY, ANY),
    "ClampMax": (34, lambda x, y, v: torch.minimum(x, torch.tensor(v)), ANY, ANY),
    "ClampMin": (35, lambda x, y, v: torch.maximum(x, torch.tensor(v)), ANY, ANY),
    "PowerScalar": (36, lambda x, y, v: torch.pow(x, v), positive(-4, 4), ANY),
    "ScalarPower": (
        37,
        lambda x, y, v: torch.pow(torch.tensor(abs(v) + 0.5, dtype=torch.float64), y),
        ANY,
        floats(-4, 4),
    ),
    "Power": (38, lambda x, y, v: torch.pow(x, y), positive(-4, 4), floats(-3, 3)),
    "Fmod": (39, lambda x, y, v: torch.fmod(x, y), wide(-4, 12), wide(-4, 4)),
    "GeGLU": (40, lambda x, y, v: x * gelu(y), wide(-4, 4), wide(-4, 4)),
    "ReGlu": (41, lambda x, y, v: x * torch.relu(y), ANY, wide(-14, 1)),
    "SwiGLU": (42, lambda x, y, v: x * y * torch.sigmoid(v * y), wide(-4, 4), wide(-4, 4)),
    "Axpy": (46, lambda x, y, v: v * x + y, wide(-4, 4), wide(-4, 4)),
}


def call(which, dtype, x, y, scalar, form=0, tmp=60000, shape=(0, 0), place=0):
    n = x.numel()
    k = kernel("adv_math.asc", "adv_math")
    z, last = torch.zeros(n, dtype=dtype, device="npu"), torch.zeros(n, dtype=dtype, device="npu")
    c = k.struct("Call", which=which, form=form, n=n, tmp=0 if form else tmp, scalar=scalar)
    seen = launch(k, x.npu(), y.npu(), z, last, c, int(dtype is torch.float32), *shape, place)
    return z.cpu(), last.cpu(), seen


HOST = {
    "ExpTaylor": "Exp",
    "GeluInFloat": "Gelu",
    "FasterGelu": "Gelu",
    "FasterGeluV2": "Gelu",
    "LgammaLeft": "Lgamma",
    "DigammaLeft": "Digamma",
    "ClampMax": "Clamp",
    "ClampMin": "Clamp",
    "PowerScalar": "Power",
    "ScalarPower": "Power",
}


def scratch(name, n, dtype, room, reuse=False):
    """Anything between the least and the most that the host asks for."""
    second = [1] if name == "PowerScalar" else [n, 1]
    most, least = sizes(
        HOST.get(name, name), asked([1] if name == "ScalarPower" else [n, 1], second, dtype.itemsize, reuse)
    )
    return (least + int((most - least) * room) + 31) // 32 * 32


rooms = st.none() | st.just(0.0) | st.floats(0, 1)  # none: without a temporary tensor


def draw(make, seed, n, dtype):
    return torch.from_numpy(make(np.random.default_rng(seed), n)).to(dtype)


@pytest.mark.parametrize("t", ["F16", "F32"])
@pytest.mark.parametrize("name", ONE)
def test_one_operand(name, t):
    which, formula, make = ONE[name]
    formula = IN_HALF.get(name, formula) if t == "F16" else formula

    @some
    @given(st.integers(1, MOST) | st.sampled_from([1, 8, 64, 128, 2048]), st.integers(0, 10**6), rooms, st.booleans())
    def check(n, seed, room, reuse):
        x = draw(make, seed, n, TORCH[t])
        tmp = scratch(name, n, TORCH[t], room or 0.0, reuse)
        got, _, seen = call(which, TORCH[t], x, x, 0.0, int(room is None), tmp)
        assert seen.finished and not seen.findings, seen.report()
        agree(got, formula(x.double()), floor=2e-14)

    check()


@pytest.mark.parametrize("t", ["F16", "F32"])
@pytest.mark.parametrize("name", TWO)
def test_two_operands(name, t):
    which, formula, left, right = TWO[name]
    formula = IN_HALF.get(name, formula) if t == "F16" else formula

    @some
    @given(st.integers(1, MOST), st.integers(0, 10**6), st.integers(-24, 24), rooms)
    def check(n, seed, eighths, room):
        v = abs(eighths / 8) + 0.5 if name == "ScalarPower" else eighths / 8
        x, y = draw(left, seed, n, TORCH[t]), draw(right, seed + 1, n, TORCH[t])
        tmp = scratch(name, n, TORCH[t], room or 0.0)
        got, _, seen = call(which, TORCH[t], x, y, v, int(room is None and name != "Axpy"), tmp)
        assert seen.finished and not seen.findings, seen.report()
        exact = formula(x.double(), y.double(), eighths / 8)
        agree(got, exact, floor=1e-11 if name == "Axpy" else 0)

    check()


SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, math.inf, -math.inf, math.nan, 3.0, -2.5, 1e-7, 6e4]


@pytest.mark.parametrize(
    "name",
    [
        "Tanh",
        "Sin",
        "Cos",
        "Tan",
        "Asin",
        "Acos",
        "Atan",
        "Sinh",
        "Cosh",
        "Asinh",
        "Acosh",
        "Atanh",
        "Erf",
        "Erfc",
        "Trunc",
        "Log2",
        "Lgamma",
        "Digamma",
        "Floor",
        "Ceil",
        "Round",
        "Sigmoid",
        "Log",
        "Log10",
        "Exp",
    ],
)
def test_special_values(name):
    which, formula, _ = ONE[name]
    x = torch.tensor(SPECIAL)
    got, _, _ = call(which, torch.float32, x, x, 0.0)
    exact = formula(x.double())
    agree(got, exact)
    assert equal(torch.signbit(got)[got == 0], torch.signbit(exact)[got == 0])


def test_powers_of_special_values():
    x, y = (torch.tensor(v) for v in zip(*[(a, b) for a in SPECIAL for b in SPECIAL]))
    got, _, _ = call(38, torch.float32, x, y, 0.0)
    want = torch.tensor(
        [math.nan if isinstance(p, complex) else p for p in map(c_pow, x.tolist(), y.tolist())], dtype=torch.float64
    )
    agree(got, want)


def c_pow(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(a) ** np.float64(b))


@pytest.mark.parametrize("t", ["F16", "F32"])
@pytest.mark.parametrize("rows", [True, False])
def test_running_sums(t, rows):
    @some
    @given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 10**6), st.floats(0, 1))
    def check(outer, blocks, seed, room):
        inner = blocks * (16 if t == "F16" else 8)
        most, least = sizes("CumSum", asked([outer, inner], [], TORCH[t].itemsize, more=int(rows)))
        x = draw(floats(-1, 1), seed, outer * inner, TORCH[t])
        got, last, seen = call(
            60 if rows else 61,
            TORCH[t],
            x,
            x,
            0.0,
            tmp=(least + int((most - least) * room)) // 32 * 32,
            shape=(outer, inner),
        )
        assert seen.finished and not seen.findings, seen.report()
        exact = torch.cumsum(x.double().view(outer, inner), 1 if rows else 0)
        agree(got, exact.flatten(), floor=1e-12)
        agree(last[:inner], exact[-1], floor=1e-12)

    check()


@pytest.mark.parametrize("t", ["F16", "F32"])
@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("outer, inner", [(5, 32), (33, 48)])
def test_running_sums_need_what_the_host_asks_for(t, rows, outer, inner):
    most, least = sizes("CumSum", asked([outer, inner], [], TORCH[t].itemsize, more=int(rows)))
    x = torch.ones(outer * inner, dtype=TORCH[t])

    def said(tmp):
        seen = call(60 if rows else 61, TORCH[t], x, x, 0.0, tmp=tmp, shape=(outer, inner))[2]
        return [(f.code, f.numbers["need"], f.numbers["have"]) for f in seen.findings]

    assert said(least) == [] and said(most) == []
    if least:
        assert said(least - 32) == [("adv-tmp-small", least, least - 32)]


@given(st.integers(0, 3), st.integers(1, 30), st.integers(0, 10**6), st.integers(-3, 9))
@settings(max_examples=40, deadline=None)
def test_whole_powers_and_xor(which, blocks, seed, scalar):
    n = 8 * blocks
    rng = np.random.default_rng(seed)
    x, y = rng.integers(-6, 7, n, dtype=np.int32), rng.integers(-3, 14, n, dtype=np.int32)
    if which == 3:
        x, y = rng.integers(-(2**31), 2**31 - 1, (2, n)).astype(np.int32)
    z = torch.zeros(n, dtype=torch.int32, device="npu")
    seen = launch(
        kernel("adv_math.asc", "adv_whole"),
        torch.from_numpy(x).npu(),
        torch.from_numpy(y).npu(),
        z,
        which,
        n,
        scalar,
        0,
    )
    assert seen.finished and not seen.findings, seen.report()
    if which == 3:
        assert (z.cpu().numpy() == x ^ y).all()
        return
    base, exponent = [(x, y), (x, np.full(n, scalar)), (np.full(n, scalar), y)][which]
    for got, b, e in zip(z.cpu().tolist(), base.tolist(), exponent.tolist()):
        want = b**e if e >= 0 else {1: 1, -1: -1 if e % 2 else 1}.get(b, 0)
        assert got == (want + 2**31) % 2**32 - 2**31, (b, e)


# Where CANN writes the result while it still needs a source; all others may be computed in place.
TORN = {
    "F16": {"Asin", "Acos", "Sign", "Silu", "Swish"},
    "F32": {"Asin", "Acos", "Sign", "Silu", "Swish", "Frac", "Fmod", "SwiGLU", "GeGLU"},
}


@pytest.mark.parametrize("t", ["F16", "F32"])
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_in_place(name, t):
    """Onto each source: the same result, and a finding exactly where the implementation does not allow it."""
    which, _, left, *right = (ONE | TWO)[name]
    n, v = 200, 1.5
    x, y = draw(left, 1, n, TORCH[t]), draw((right or [left])[0], 2, n, TORCH[t])
    tmp = scratch(name, n, TORCH[t], 1.0)
    want, _, _ = call(which, TORCH[t], x, y, v, tmp=tmp)
    sources = {"ScalarPower": [2], "PowerScalar": [1], "Power": [1, 2], "Fmod": [1, 2]}
    places = sources.get(name, [1, 2] if name.endswith(("GLU", "Glu")) else [1])
    for place in () if name == "Axpy" else places:  # the result of Axpy is its second source
        got, _, seen = call(which, TORCH[t], x, y, v, tmp=tmp, place=place)
        said = ["adv-in-place"] if name in TORN[t] else []
        assert seen.codes() == said, f"{name} of {t} onto source {place}: {seen.codes()}, not {said}"
        agree(got, want.double(), units=0)


def test_xor_in_place():
    x, y = torch.randint(-(2**31), 2**31 - 1, (2, 64), dtype=torch.int32)
    for place, said in ((0, []), (1, ["adv-in-place"]), (2, ["adv-in-place"])):
        z = torch.zeros(64, dtype=torch.int32, device="npu")
        seen = launch(kernel("adv_math.asc", "adv_whole"), x.npu(), y.npu(), z, 3, 64, 0, place)
        assert seen.codes() == said, f"Xor onto source {place}: {seen.report() or 'no finding'}"
        assert equal(z.cpu(), x ^ y)


@pytest.mark.parametrize("size", [2, 4])
def test_factors_make_sizes(size):
    """A size that the factor gives is one that the function takes: between its least and its most."""
    for name in [*ONE, *TWO]:
        host = HOST.get(name, name)
        given_by = factor(host, size)
        if given_by is None or host in ("Clamp", "Log2", "Axpy") or (host, size) == ("Lgamma", 2):
            continue
        nodes, extra = given_by
        most, least = sizes(host, asked([4096, 1], [4096, 1], size))
        assert least <= nodes * size * 4096 + extra <= most, name


def test_more_scratch_is_faster():
    x = draw(ANY, 0, 2048, torch.float32)
    times = [call(0, torch.float32, x, x, 0.0, tmp=t)[2].time_us for t in (512, 2048, 8192, 32768)]
    assert times[0] > times[1] > times[2] == times[3]
