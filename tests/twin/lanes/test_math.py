"""The twin's lane arithmetic against numpy: all 65536 halves where a half goes in, random bits and
special values elsewhere; bit for bit wherever IEEE 754 says what the answer is. NaN is checked as
the one quiet NaN the contract names.

The same sources are also built for the oldest x86-64, and both builds must agree in every bit.
"""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twin_math import ALL_HALVES, DT, F32, MODES, NP, PAIRS, Math, bits, rng, same, some, ulps

COMPARES = [np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal]
UNARY = "Abs Exp Ln Sqrt Rsqrt Reciprocal Relu Not".split()
BINARY = "Add Sub Mul Div Max Min And Or AddRelu SubRelu MulAddDst FusedMulAdd".split()
SCALAR = "Adds Muls Maxs Mins LeakyRelu Axpy ShiftLeft ShiftRight".split()


@pytest.fixture(scope="module")
def m() -> Math:
    return Math("native")


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


# ---- one and two operands


def test_scalar_half_conversions(m):
    widened = np.array([m.c.m_half_to_float(ctypes.c_uint16(h)) for h in range(65536)], F32)
    assert np.array_equal(widened, ALL_HALVES.astype(F32), equal_nan=True)
    for x in [*some("F32", 2000), *(ALL_HALVES[1000:30000:7].astype(F32) * F32(1 + 2**-11))]:
        want = x.astype(np.float16) if not np.isnan(x) else None
        got = np.uint16(m.c.m_float_to_half(ctypes.c_float(x))).view(np.float16)
        assert got.tobytes() == want.tobytes() if want is not None else np.isnan(got)


EXACT = {
    "Abs": np.abs,
    "Sqrt": np.sqrt,
    "Rsqrt": lambda x: F32(1) / np.sqrt(x),
    "Reciprocal": lambda x: F32(1) / x,
    "Relu": lambda x: np.where(x <= 0, F32(0), x),
}


@pytest.mark.parametrize("t", ["F16", "F32"])
@pytest.mark.parametrize("op", EXACT)
def test_unary_exact(m, op, t):
    s = ALL_HALVES if t == "F16" else some("F32", 50000)
    same(m.unary(op, t, s), EXACT[op](s.astype(F32)))


@pytest.mark.parametrize("op, reference", [("Exp", np.exp), ("Ln", np.log)])
def test_exp_and_ln(m, op, reference):
    assert ulps(m.unary(op, "F16", ALL_HALVES), reference(ALL_HALVES.astype(np.float64))) <= 1
    s = np.concatenate(
        [
            some("F32", 300_000),
            rng.uniform(-110, 100, 300_000).astype(F32),
            1 + rng.uniform(-0.5, 0.5, 100_000).astype(F32) ** 5,
        ]
    )
    assert ulps(m.unary(op, "F32", s), reference(s.astype(np.float64))) <= 1.1


def relu(x):
    return np.where(x <= 0, x.dtype.type(0), x)


GOLDEN = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "And": np.bitwise_and,
    "Or": np.bitwise_or,
    "AddRelu": lambda a, b: relu(a + b),
    "SubRelu": lambda a, b: relu(a - b),
    "Max": lambda a, b: np.where(np.isnan(a) | (a > b), a, b),
    "Min": lambda a, b: np.where(np.isnan(a) | (a < b), a, b),
}


NUMBERS = ["F16", "F32", "I16", "I32"]
TYPES = {
    "Div": ["F16", "F32"],
    "And": ["I16", "U16"],
    "Or": ["I16", "U16"],
    "AddRelu": ["F16", "F32", "I16"],
    "SubRelu": ["F16", "F32", "I16"],
}


@pytest.mark.parametrize("op, t", [(op, t) for op in GOLDEN for t in TYPES.get(op, NUMBERS)])
def test_binary(m, op, t):
    a, b = some(t), some(t)
    wide = (lambda x: x.astype(F32)) if t == "F16" else (lambda x: x)
    same(m.binary(op, t, a, b), GOLDEN[op](wide(a), wide(b)))
    for n in (1, 7, 16, 33):
        same(m.binary(op, t, a[:n], b[:n]), GOLDEN[op](wide(a[:n]), wide(b[:n])))


@pytest.mark.parametrize("t", ["F16", "F32"])
def test_multiply_add(m, t):
    a, b, d = (some(t) for _ in range(3))
    x, y, z = (v.astype(F32) for v in (a, b, d))
    value = NP[t](1.7)
    same(m.binary("MulAddDst", t, a, b, d), x * y + z)
    same(m.binary("FusedMulAdd", t, a, b, d), z * x + y)
    same(m.scalar("Axpy", t, a, value, d), value.astype(F32) * x + z)
    same(m.scalar("LeakyRelu", t, a, value), np.where(x >= 0, x, x * value.astype(F32)))


@pytest.mark.parametrize("t", NUMBERS)
def test_with_scalar(m, t):
    s = some(t)
    wide = (lambda x: x.astype(F32)) if t == "F16" else (lambda x: x)
    for value in some(t, 3)[-8:]:
        for op in ("Add", "Mul", "Max", "Min"):
            same(m.scalar(op + "s", t, s, value), GOLDEN[op](wide(s), wide(np.full_like(s, value))))


@pytest.mark.parametrize("t", ["I16", "U16", "I32", "U32"])
def test_shifts_and_not(m, t):
    s = some(t)
    width = s.itemsize * 8
    wide = s.astype(np.int64)
    for by in (0, 1, width - 1, width, width + 3):
        same(m.scalar("ShiftRight", t, s, NP[t](by)), wide >> by)
        same(m.scalar("ShiftLeft", t, s, NP[t](by)), (wide << by).astype(f"u{s.itemsize}").view(NP[t]))
    if width == 16:
        same(m.unary("Not", t, s), ~s)


@pytest.mark.parametrize("t", ["F16", "F32", "I32"])
@pytest.mark.parametrize("shift", [0, 1, 6])
def test_in_place_and_unaligned(m, t, shift):
    """d may be either source, or both; no address need be aligned to more than the element."""
    for n in (5, 64, 1000):
        a, b = some(t, n + shift)[shift:n], some(t, n + shift)[shift:n]
        want = m.binary("Add", t, a, b)
        for d, first, second in [(a.copy(), None, b), (b.copy(), a, None)]:
            x, y = (ctypes.c_void_p((d if v is None else v).ctypes.data) for v in (first, second))
            m.c.m_binary(b"Add", DT[t], ctypes.c_void_p(d.ctypes.data), x, y, ctypes.c_size_t(len(d)))
            same(d, want)


def test_relu_int32(m):
    s = some("I32")
    same(m.unary("Relu", "I32", s), np.maximum(s, 0))


def test_an_unsupported_call_says_so_and_aborts(m):
    code = (
        f"import ctypes; c = ctypes.CDLL({str(m.path)!r}); b = ctypes.create_string_buffer(64);"
        f"c.m_unary(b'Exp', {DT['I32']}, b, b, ctypes.c_size_t(4))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode < 0 and "no Exp for int32_t" in run.stderr


# ---- compare, select, fill


def packed(mask):
    return np.packbits(mask, bitorder="little")


@pytest.mark.parametrize("t", ["F16", "F32", "I32"])
@pytest.mark.parametrize("n", [1, 8, 31, 64, 133, 2048])
def test_compare_and_select(m, t, n):
    a, b = some(t, n)[:n], some(t, n)[:n]
    b[::3] = a[::3]
    for mode, fn in enumerate(COMPARES):
        if m.c.m_supports_compare(mode, DT[t]):
            want = packed(fn(a, b))
            same(m("compare", mode, DT[t], a, b, ctypes.c_size_t(n), out=np.uint8, n=len(want)), want)
            want = packed(fn(a, b[0]))
            same(m("compare_scalar", mode, DT[t], a, bits(b[0]), ctypes.c_size_t(n), out=np.uint8, n=len(want)), want)
    mask = rng.random(n) < 0.5
    u = f"u{a.itemsize}"  # Select moves bits, NaN payloads too
    got = m("select", DT[t], packed(mask), a, b, out=a.dtype, n=n)
    assert (got.view(u) == np.where(mask, a.view(u), b.view(u))).all()
    got = m("select_scalar", DT[t], packed(mask), a, bits(b[0]), out=a.dtype, n=n)
    assert (got.view(u) == np.where(mask, a.view(u), b.view(u)[0])).all()


@pytest.mark.parametrize("t", ["I8", "U16", "F16", "BF16", "F32", "I32"])
def test_fill(m, t):
    value = NP[t](3)
    d = np.zeros(140, NP[t])
    m.c.m_fill(DT[t], ctypes.c_void_p(d.ctypes.data), bits(value), ctypes.c_size_t(0))
    assert (d == 0).all()
    m.c.m_fill(DT[t], ctypes.c_void_p(d.ctypes.data), bits(value), ctypes.c_size_t(133))
    assert (d[:133] == value).all() and (d[133:] == 0).all()


# ---- reductions


def tree(x):
    while len(x) > 1:
        odd = x[len(x) & ~1 :]
        x = np.concatenate([x[0 : len(x) & ~1 : 2] + x[1::2], odd])
    return x


def total(m, t, x):
    return m("sum", DT[t], x, ctypes.c_size_t(len(x)), out=x.dtype, n=1)


@settings(max_examples=60)
@given(st.integers(1, 5000), st.sampled_from(["F16", "F32"]), st.integers(0, 2**32 - 1))
def test_sum_is_the_tree(m, n, t, seed):
    x = np.random.default_rng(seed).normal(size=n).astype(NP[t])
    same(total(m, t, x), tree(x))


@pytest.mark.parametrize("t", ["F16", "F32"])
def test_sum_specials(m, t):
    for x in ([-0.0] * 5, [np.inf, 1, -np.inf], [np.nan, 1], [np.finfo(NP[t]).max] * 3, [-0.0]):
        x = np.array(x, NP[t])
        same(total(m, t, x), tree(x))


@pytest.mark.parametrize("t", ["F16", "F32"])
@pytest.mark.parametrize("name, best", [("max", np.argmax), ("min", np.argmin)])
def test_extremes(m, t, name, best):
    for n in (1, 2, 15, 16, 17, 64, 128, 1000, 4096):
        for kind in ("plain", "ties", "nan", "inf"):
            x = rng.normal(size=n).astype(NP[t])
            if kind == "ties":
                x = rng.integers(-3, 4, n).astype(NP[t])
            elif kind == "nan":
                x[rng.integers(n, size=2)] = np.nan
            elif kind == "inf":
                x[:] = rng.choice([-np.inf, np.inf], n)
            index = np.zeros(1, np.uint32)
            got = m(name, DT[t], index, x, ctypes.c_size_t(n), out=x.dtype, n=1)
            assert index[0] == best(x)  # numpy: the first NaN if there is one, else the first of the best
            same(got, x[best(x)][None])


@pytest.mark.parametrize("t", ["F16", "F32"])
@pytest.mark.parametrize("group, count", [(1, 5), (2, 7), (8, 300), (16, 9), (64, 40), (128, 17), (1024, 3)])
def test_runs_are_the_single_reductions(m, t, group, count):
    x = some(t, group * count)[: group * count]
    for op, name in (("ReduceSum", "sum"), ("ReduceMax", "max"), ("ReduceMin", "min")):
        got = m("runs", op, DT[t], x, ctypes.c_size_t(group), out=x.dtype, n=count)
        rows = x.reshape(count, group)
        single = getattr(m.c, f"m_{name}")
        no_index = [] if name == "sum" else [None]
        d = np.zeros(1, x.dtype)
        for row, value in zip(rows, got):
            single(
                DT[t],
                ctypes.c_void_p(d.ctypes.data),
                *no_index,
                ctypes.c_void_p(row.ctypes.data),
                ctypes.c_size_t(group),
            )
            if group > 1:
                same(np.array([value]), d)


# ---- every build the same bits


def has(feature: str) -> bool:
    try:
        return feature in Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False


def every_result(lib: Math):
    """(what, bytes) of each operation on the same random bits, NaNs of all kinds among them."""
    seeded = np.random.default_rng(7)
    for t in DT:
        a, b, d = seeded.integers(0, 256, (3, 3001 * np.dtype(NP[t]).itemsize), dtype=np.uint8).view(NP[t])
        ops = [op for op in [*UNARY, *BINARY, *SCALAR] if lib.c.m_supports(op.encode(), DT[t])]
        for op in ops:
            result = (
                lib.unary(op, t, a)
                if op in UNARY
                else lib.binary(op, t, a, b, d)
                if op in BINARY
                else lib.scalar(op, t, a, b[40], d)
            )
            yield f"{op} {t}", result.tobytes()
        for to in PAIRS.get(t, []):
            for mode in MODES[:-1]:
                yield f"{t} to {to} {mode}", lib.cast(to, t, mode, a).tobytes()
        if t in ("F16", "F32"):
            yield f"sum {t}", total(lib, t, a).tobytes()
            for op in ("ReduceSum", "ReduceMax", "ReduceMin"):
                yield f"{op} {t}", lib("runs", op, DT[t], a, ctypes.c_size_t(8), out=a.dtype, n=375).tobytes()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="compares x86-64 builds")
@pytest.mark.parametrize(
    "march",
    [
        "x86-64",
        pytest.param(
            "haswell",
            marks=pytest.mark.skipif(
                not (has("avx2") and has("f16c") and has("fma")), reason="needs AVX2, F16C and FMA"
            ),
        ),
    ],
)
def test_every_bit_is_the_same_on_older_machines(m, march):
    old = dict(every_result(Math(march)))
    assert [what for what, result in every_result(m) if old[what] != result] == []
