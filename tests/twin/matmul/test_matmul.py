"""Matmul objects against numpy: types, formats, transposes, tails, and every way to get at C. Operands are whole
numbers, so that sums are exact and results can be compared bit by bit.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from matmul_case import C0, Case, up  # noqa: E402
from same import equal  # noqa: E402

SIZES = st.one_of(st.integers(1, 40), st.sampled_from([16, 31, 32, 33, 48, 64, 65, 100, 128]))
FORMS = {
    "half_float": dict(a="half", c="float"),
    "half_half": dict(a="half", c="half", bias_type="half"),
    "bf16_bf16": dict(a="bf16", c="bf16"),
    "float_float": dict(a="float", c="float"),
    "int8_int32": dict(a="int8", c="int32", bias_type="int32"),
    "half_nz": dict(a="half", c="float", a_nz=True, b_nz=True, c_nz=16),
    "int8_nz": dict(a="int8", c="int32", bias_type="int32", a_nz=True, b_nz=True, c_nz=16),
    "half_align": dict(a="half", c="half", bias_type="half", b_nz=True, align=True),
}
WHOLE, BLOCKS, ASYNC, PACKED, ALL_PACKED, WORKSPACE, UB = range(7)
PLAIN = [n for n in FORMS if n not in ("half_nz", "int8_nz", "half_align")]


def rounded(exact: np.ndarray, kind: str) -> np.ndarray:
    types = {"half": torch.float16, "bf16": torch.bfloat16, "float": torch.float32, "int32": torch.int32}
    return (
        torch.from_numpy(exact)
        .to(torch.float32 if kind != "int32" else torch.int64)
        .to(types[kind])
        .to(torch.float64)
        .numpy()
    )


def holds(case: Case) -> None:
    got, exact, record = case.run()
    assert record.finished and not record.findings, record.report()
    want = rounded(exact + (1 if case.way in (WORKSPACE, UB) and case.c != "bf16" else 0), case.c)
    assert equal(got, want), f"{case}\n{np.argwhere(got != want)[:5]}"


@st.composite
def products(draw, entries, ways):
    """A product, cut among the cores on fractals; whole blocks where rows are packed into UB."""
    entry, way = draw(st.sampled_from(entries)), draw(st.sampled_from(ways))
    form = FORMS[entry]
    c0 = C0[form["a"]]
    base = (draw(st.sampled_from([16, 32, 48])), draw(st.sampled_from([32, 64])), draw(st.sampled_from([c0, 2 * c0])))
    m, n, k = draw(SIZES), draw(SIZES), draw(SIZES)
    if way in (WORKSPACE, UB):
        n = up(n, 16)
    trans_a, trans_b = draw(st.booleans()), draw(st.booleans())
    if form["a"] == "int8" and trans_a:
        base = (up(base[0], 32), base[1], base[2])
    unit = 32 if form["a"] == "int8" else 16
    single = (m if draw(st.booleans()) else up(-(-m // 2), unit), n if draw(st.booleans()) else up(-(-n // 2), unit), k)
    return Case(
        entry=entry,
        m=m,
        n=n,
        k=k,
        base=base,
        single=single,
        trans_a=trans_a,
        trans_b=trans_b,
        bias=draw(st.booleans()),
        way=way,
        seed=draw(st.integers(0, 99)),
        **form,
    )


@pytest.mark.parametrize("entry", FORMS)
def test_a_whole_product(entry):
    @settings(max_examples=30)
    @given(products([entry], [WHOLE, ASYNC]))
    def check(case):
        holds(case)

    check()


@pytest.mark.parametrize("way", [BLOCKS, PACKED, ALL_PACKED, WORKSPACE, UB])
def test_block_by_block(way):
    @settings(max_examples=30)
    @given(products(PLAIN if way in (BLOCKS, WORKSPACE, UB) else ["half_float", "half_half"], [way]))
    def check(case):
        holds(case)

    check()


@pytest.mark.parametrize("way", [WHOLE, BLOCKS, WORKSPACE, UB])
def test_however_late_transfers_are(way):
    holds(Case("half_float", 100, 96, 70, single=(64, 48, 70), bias=True, way=way, launch=dict(schedule="worst")))


@settings(max_examples=20)
@given(st.integers(1, 4), SIZES, SIZES, st.integers(1, 200), st.sampled_from([WHOLE, BLOCKS, ASYNC]))
def test_k_in_parts_that_add_up(parts, m, n, k, way):
    holds(Case("half_float", m, n, k, single=(m, n, up(-(-k // parts), 16)), atomic=1, bias=True, way=way))


@pytest.mark.parametrize("atomic, better", [(2, np.maximum), (3, np.minimum)])
def test_the_larger_and_the_smaller(atomic, better):
    case = Case("half_float", 33, 40, 50, atomic=atomic)
    got, exact, record = case.run()
    assert not record.findings and np.array_equal(got, better(exact, case.before.reshape(33, 40)))


def parameter(scale: float, offset: int = 0, signed: bool = True) -> int:
    return int(np.float32(scale).view(np.uint32)) & 0xFFFFE000 | (offset & 511) << 37 | int(signed) << 46


def factor(parameters) -> np.ndarray:
    return np.array([p & 0xFFFFFFFF for p in parameters], np.uint32).view(np.float32)


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("way", [WHOLE, BLOCKS])
def test_int8_products_become_half(vector, way):
    rng = np.random.default_rng(3)
    quant = [parameter(s) for s in rng.uniform(1e-3, 0.02, 70 if vector else 1)]
    got, exact, record = Case(
        "int8_half",
        50,
        70,
        90,
        a="int8",
        c="half",
        bias_type="int32",
        bias=True,
        quant=quant,
        way=way,
        single=(32, 64, 90),
    ).run()
    want = (exact.astype(np.float32) * factor(quant)).astype(np.float16)
    assert not record.findings and np.array_equal(got, want.astype(np.float64))


@pytest.mark.parametrize("vector", [False, True])
def test_half_products_become_int8(vector):
    rng = np.random.default_rng(4)
    quant = [
        parameter(s, int(o)) for s, o in zip(rng.uniform(0.01, 0.2, 64 if vector else 1), rng.integers(-20, 20, 64))
    ]
    got, exact, record = Case("half_int8", 40, 64, 60, c="int8", quant=quant, bias=True).run()
    offset = np.array([(q >> 37 & 511) - (512 if q >> 45 & 1 else 0) for q in quant])
    want = np.clip(np.rint(exact.astype(np.float32) * factor(quant)) + offset, -128, 127)
    assert not record.findings and np.array_equal(got, want)


@pytest.mark.parametrize("mode", [1, 2])
def test_fp32_operands_that_lose_their_lowest_bits(mode):
    case = Case("float_float", 30, 40, 64, a="float", hf32=mode)
    got, exact, record = case.run()

    def short(x):  # 10 bits of fraction, to nearest; halfway to even, or towards zero
        bits = x.astype(np.float32).view(np.uint32)
        odd = bits >> 12 & 1
        return (
            ((bits + (0x7FF + (odd if mode == 1 else 0))) & np.uint32(0xFFFFF000)).view(np.float32).astype(np.float64)
        )

    want = short(case.a_values) @ short(case.b_values)
    assert not record.findings
    assert np.abs(got - want).max() < 0.01 < np.abs(exact - want).max()


def test_n_runs_first_where_the_tiling_says_so():
    case = Case("half_float", 64, 96, 40, way=PACKED, fields=dict(iterateOrder=1))
    got, exact, _ = case.run()
    order = [(r, c) for r in range(2) for c in range(3)]
    # the kernel puts block i there
    seen = [got[32 * (i % 2) : 32 * (i % 2) + 32, 32 * (i // 2) : 32 * (i // 2) + 32] for i in range(6)]
    for (r, c), block in zip(order, seen):
        assert equal(block, exact[32 * r : 32 * r + 32, 32 * c : 32 * c + 32])
