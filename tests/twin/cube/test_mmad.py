"""Products by ND2NZ, LoadData, Mmad and Fixpipe against numpy: types, tails, transpositions, bias, accumulation."""

from __future__ import annotations

import numpy as np
import pins
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from places import KERNELS

import labkit

HERE = KERNELS
NAMES = ["half", "bfloat16", "float", "int8", "int4"]
DEFAULTS = dict(turnA=0, turnB=0, pieces=1, bias=0, unit=0, hf32=0)


def operand(name: str, shape, seed: int) -> np.ndarray:
    """Numbers that the type holds exactly, as float64 or int64."""
    rng = np.random.default_rng(seed)
    if name.startswith("int"):
        low = -128 if name == "int8" else -8
        return rng.integers(low, -low, shape)
    x = rng.uniform(-2, 2, shape).astype(np.float32)
    if name == "half":
        x = x.astype(np.float16)
    if name == "bfloat16":
        x = (x.view(np.uint32) & 0xFFFF0000).view(np.float32)
    return x.astype(np.float64)


def stored(name: str, x: np.ndarray) -> np.ndarray:
    """The bytes of an operand in GM."""
    if name == "half":
        return x.astype(np.float16)
    if name == "bfloat16":
        return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.int16)
    if name == "float":
        return x.astype(np.float32)
    if name == "int8":
        return x.astype(np.int8)
    flat = x.astype(np.int8).ravel() & 15
    return (flat[0::2] | flat[1::2] << 4).astype(np.int8)


def exact(a: np.ndarray, b: np.ndarray, start: np.ndarray) -> np.ndarray:
    """One chain of fused multiply-adds per element, k ascending: every step rounded to fp32 once (float64 holds a
    product of two floats exactly, and the sum's second rounding cannot be seen but in rare ties)."""
    c = start.astype(np.float64)
    for k in range(a.shape[1]):
        c = (c + np.outer(a[:, k], b[k])).astype(np.float32).astype(np.float64)
    return c.astype(np.float32)


def hf32(x: np.ndarray, zero: bool) -> np.ndarray:
    bits = x.astype(np.float32).view(np.uint32)
    return (
        ((bits + 0x7FF + (0 if zero else bits >> 12 & 1)) & 0xFFFFF000)
        .astype(np.uint32)
        .view(np.float32)
        .astype(np.float64)
    )


@pytest.fixture(scope="module", params=["program", "worst"])
def multiply(request):
    import torch

    k = labkit.kernel(HERE / "cube_matmul.asc", schedule=request.param)

    def multiply(name, a, b, start, **p):
        m, depth, n = a.shape[0], a.shape[1], b.shape[1]
        result = np.int32 if name.startswith("int") else np.float32
        put = lambda x: torch.from_numpy(np.ascontiguousarray(x)).npu()  # noqa: E731
        c = put(np.zeros((m, n), result))
        form = DEFAULTS | p | dict(m=m, n=n, k=depth, type=NAMES.index(name))
        record = k[1](
            put(stored(name, a.T if form["turnA"] else a)),
            put(stored(name, b.T if form["turnB"] else b)),
            put(start.astype(result)),
            c,
            k.struct("Sizes", **form),
        )
        assert record.finished and not record.findings, record.report()
        return c.cpu().numpy()

    return multiply


@pytest.mark.parametrize("name", NAMES)
def test_products(multiply, name):
    @settings(max_examples=15)
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        draw = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
        m, n, k = draw(2, 50), draw(1, 50), draw(1, 140)
        p = dict(turnA=draw(0, 1), turnB=draw(0, 1), pieces=draw(1, 3), bias=draw(0, 2), unit=draw(0, 1))
        if (
            name == "int4"
        ):  # pairs share a byte: along k where k is innermost, else along the side; no turned A, no bias
            p |= dict(turnA=0, bias=0)
            k, n = k + k % 2, n + n % 2
        assume(p["pieces"] == 1 or k > 16)
        if name == "float":
            p["hf32"] = draw(0, 2)
        a, b, bias = operand(name, (m, k), seed), operand(name, (k, n), seed + 1), operand(name, n, seed + 2)
        got = multiply(name, a, b, bias, **p)
        start = np.tile(bias if p["bias"] else np.zeros(n), (m, 1))
        if name.startswith("int"):
            assert np.array_equal(got, start.astype(np.int64) + a @ b)
            return
        if p.get("hf32"):
            a, b = hf32(a, p["hf32"] == 2), hf32(b, p["hf32"] == 2)
        want = exact(a, b, start)
        if name == "float" and not p.get("hf32"):
            assert np.allclose(got, want, rtol=1e-6, atol=1e-5)
        else:
            assert np.array_equal(got, want)

    check()


def test_special_values(multiply):
    a = np.array([[np.inf, 1, 2, 3], [np.nan, 0, 0, 0], [65504, 65504, 0, 0], [6e-8, 0, 0, -6e-8]] * 4)
    b = np.ones((4, 16))
    b[:, 1], b[1, 2] = 0, -1
    with np.errstate(invalid="ignore"):
        want = exact(a.astype(np.float16).astype(np.float64), b, np.zeros((16, 16)))
    got = multiply("half", a, b, np.zeros(16))
    assert np.array_equal(got, want, equal_nan=True)
    assert set(got[np.isnan(got)].view(np.uint32)) == {0x7FC00000}


def test_int8_saturates_nowhere_near(multiply):
    """The largest products: -128 * -128 * 512 in two pieces are exact in int32."""
    a, b = np.full((16, 512), -128), np.full((512, 16), -128)
    assert (multiply("int8", a, b, np.zeros(16), pieces=2) == 128 * 128 * 512).all()


@pytest.mark.parametrize("name", NAMES)
def test_what_a_product_costs(multiply, name):
    """The same in both schedules; compared with tests/faults/pins.json."""
    for turn in (0,) if name == "int4" else (0, 1):
        with pins.watch() as records:
            multiply(
                name,
                operand(name, (48, 64), 1),
                operand(name, (64, 32), 2),
                operand(name, 32, 3),
                pieces=2,
                bias=int(name != "int4"),
                turnA=turn,
                turnB=turn,
            )
        pins.check(f"cube/{name} turned {turn}", records[-1])
