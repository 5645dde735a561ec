"""Host tiling: whatever product is asked for, the answer fits every memory, keeps what was fixed and covers the product
exactly once; and the host's tiling classes lie in memory as the kernel's structs do.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.build import compiler, headers, runtime

HERE = Path(__file__).parent
L1, L0, L0C, BT = 524288, 65536, 131072, 1024
BITS = {0: 32, 1: 16, 2: 8, 27: 16, 29: 4}  # DataType: float, half, int8, bfloat16, int4


def _fields(name: str) -> list[str]:
    text = (headers.TREES["kernel"] / "twin" / "base" / "tiling_structs.h").read_text()
    body = re.search(rf"TWIN_FIELDS_{name}\(F\)(.*?)\n#define", text, re.S)[1]
    return re.findall(r"F\(\w+, (\w+)\)", body)


class Tiling(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int32) for n in _fields("TCubeTiling")]


ASKED = [
    "m",
    "n",
    "k",
    "cores",
    "dtype",
    "trans_a",
    "trans_b",
    "bias",
    "base_m",
    "base_n",
    "single_m",
    "single_n",
    "single_k",
    "split_k",
    "schedule",
    "l1",
    "max_base",
    "align",
    "traverse",
    "in_l1",
    "max_m",
    "max_n",
    "max_k",
    "min_m",
    "min_n",
    "min_k",
]


class Asked(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int32) for n in ASKED]


@pytest.fixture(scope="module")
def shim():
    lib = runtime.library()
    flags = ["-O1", "-std=c++17", *(f"-I{d}" for d in headers.include_dirs())]
    return ctypes.CDLL(
        str(
            compiler.build(
                [HERE / "tiling_shim.cpp"], flags=flags, name="tiling_shim", libs=[lib, f"-Wl,-rpath,{lib.parent}"]
            )
        )
    )


def ask(shim, host_class=0, **asked):
    free = dict(
        trans_a=0,
        trans_b=0,
        bias=0,
        base_m=-1,
        base_n=-1,
        single_m=-1,
        single_n=-1,
        single_k=-1,
        split_k=0,
        schedule=0,
        l1=-1,
        max_base=-1,
        align=-1,
        traverse=0,
        in_l1=0,
        dtype=1,
        **dict.fromkeys(ASKED[-6:], -1),
    )
    q, t, dims = Asked(**{**free, **asked}), Tiling(), (ctypes.c_int32 * 3)()
    return shim.cut_matmul(ctypes.byref(q), ctypes.byref(t), dims, host_class), t, list(dims)


def up(a: int, b: int) -> int:
    return -(-a // b) * b


def holds(
    t: Tiling, dims, *, m, n, k, cores, dtype=1, trans_a=0, trans_b=0, bias=0, split_k=0, l1=-1, three=False, **_
) -> None:
    bits = BITS[dtype]
    c0 = 256 // bits
    assert (t.M, t.N, t.Ka, t.Kb, t.isBias) == (m, n, k, k, bias)
    # memories, with the double buffers that the tiling says it uses
    a1, b1 = t.baseM * t.baseK * bits // 8, t.baseN * t.baseK * bits // 8
    assert 0 < a1 * t.dbL0A <= L0 and 0 < b1 * t.dbL0B <= L0 and t.dbL0A in (1, 2) and t.dbL0B in (1, 2)
    assert t.baseM * t.baseN * 4 * t.dbL0C <= L0C and t.baseN * 4 * bias <= BT
    used = t.depthA1 * a1 + t.depthB1 * b1 + t.baseN * 4 * bias
    assert used == t.shareL1Size <= (L1 if l1 < 0 else l1)
    assert t.depthA1 % (t.stepM * t.stepKa) == 0 and t.depthA1 // (t.stepM * t.stepKa) in (1, 2)
    assert t.depthB1 % (t.stepN * t.stepKb) == 0 and t.depthB1 // (t.stepN * t.stepKb) in (1, 2)
    # fractals
    assert t.baseM % (max(16, c0) if trans_a else 16) == 0 and t.baseN % (16 if trans_b else max(16, c0)) == 0
    assert t.baseK % (c0 if trans_b and not trans_a else max(16, c0)) == 0
    # every element once: as many cores as parts, none of them empty
    parts = [-(-m // t.singleCoreM), -(-n // t.singleCoreN), -(-k // t.singleCoreK)]
    assert (
        parts[0] * parts[1] * parts[2] == t.usedCoreNum <= cores and parts[:2] == dims[1:] and dims[0] == t.usedCoreNum
    )
    assert parts[2] == 1 or split_k
    assert t.singleCoreM <= m and t.singleCoreN <= n and t.singleCoreK <= k
    # a core's part starts where a fractal starts
    assert parts[0] == 1 or t.singleCoreM % 16 == 0
    assert parts[1] == 1 or t.singleCoreN % 16 == 0
    if not three:  # rounds over K in L1 fit into each other, as the MDL template wants them
        steps = -(-t.singleCoreK // t.baseK)
        assert max(t.stepKa, t.stepKb) % min(t.stepKa, t.stepKb) == 0 and max(t.stepKa, t.stepKb) <= steps


def test_operands_that_lie_in_l1_have_to_fit_there(shim):
    assert ask(shim, m=128, n=128, k=256, cores=1, in_l1=1)[0] == 0
    assert ask(shim, m=1024, n=1024, k=1024, cores=1, in_l1=1)[0] == -1, "2 MB each, of 512 KB"


SIZES = st.one_of(
    st.integers(1, 80),
    st.sampled_from([16, 32, 64, 128, 256, 512, 1000, 1024, 2047, 2048, 4096, 7680]),
    st.integers(1, 9000),
)


@settings(max_examples=250)
@given(
    st.fixed_dictionaries(
        dict(
            m=SIZES,
            n=SIZES,
            k=SIZES,
            cores=st.sampled_from([1, 2, 8, 20, 24, 40, 48]),
            dtype=st.sampled_from(sorted(BITS)),
            trans_a=st.integers(0, 1),
            trans_b=st.integers(0, 1),
            bias=st.integers(0, 1),
            split_k=st.integers(0, 1),
            l1=st.sampled_from([-1, -1, 262144, 131072]),
        )
    )
)
def test_every_answer_fits_and_covers(shim, asked):
    result, t, dims = ask(shim, **asked)
    assert result == 0
    holds(t, dims, **asked)


@settings(max_examples=80)
@given(
    st.fixed_dictionaries(
        dict(
            m=SIZES,
            n=SIZES,
            k=SIZES,
            cores=st.just(48),
            base_m=st.sampled_from([-1, 16, 32, 128, 256]),
            base_n=st.sampled_from([-1, 16, 64, 128]),
            align=st.sampled_from([-1, 32, 64]),
            bias=st.integers(0, 1),
        )
    )
)
def test_what_was_fixed_stays(shim, asked):
    result, t, dims = ask(shim, **asked)
    assert result == 0
    holds(t, dims, **asked)
    assert asked["base_m"] in (-1, t.baseM) and asked["base_n"] in (-1, t.baseN)
    if asked["align"] > 0:
        assert (t.singleCoreM % asked["align"] == 0 or dims[1] == 1) and (
            t.singleCoreN % asked["align"] == 0 or dims[2] == 1
        )


def test_single_shapes_and_limits(shim):
    result, t, dims = ask(
        shim, m=2558, n=2045, k=128, cores=16, single_m=640, single_n=512, single_k=128, base_m=80, base_n=64
    )
    assert result == 0 and (t.singleCoreM, t.singleCoreN, t.baseM, t.baseN, dims) == (640, 512, 80, 64, [16, 4, 4])
    result, t, dims = ask(shim, m=8192, n=8192, k=8192, cores=24, single_m=1024, single_n=1536, single_k=8192)
    assert (result, t.usedCoreNum, dims[1:]) == (0, 24, [8, 6])  # more parts than cores: each takes several
    assert ask(shim, m=512, n=512, k=512, cores=1, base_m=512, base_n=128)[0] == -1  # C does not fit L0C
    assert ask(shim, m=512, n=512, k=512, cores=1, l1=512)[0] == -1
    result, t, _ = ask(shim, m=512, n=512, k=512, cores=1, max_base=64)
    assert result == 0 and max(t.baseM, t.baseN) <= 64


OUTER, FIRST_M, FIRST_N = 1, 1, 2


@settings(max_examples=120)
@given(
    st.fixed_dictionaries(
        dict(
            m=st.integers(300, 4000),
            n=st.integers(300, 4000),
            k=st.integers(16, 400),
            cores=st.just(1),
            base_m=st.sampled_from([16, 64, 128, 256]),
            base_n=st.sampled_from([16, 64, 128, 256]),
            dtype=st.sampled_from([0, 1]),
            bias=st.integers(0, 1),
            l1=st.sampled_from([-1, 262144, 131072, 65536]),
            traverse=st.sampled_from([FIRST_M, FIRST_N]),
        )
    )
)
def test_the_outer_product_keeps_two_bases_where_l1_has_room(shim, asked):
    if asked["base_m"] * asked["base_n"] * 4 > L0C:
        asked["base_n"] = 64
    _, plain, _ = ask(shim, **asked)
    result, t, _ = ask(shim, schedule=OUTER, **asked)
    assert result == 0
    bytes_of = BITS[asked["dtype"]] // 8
    along_n = asked["traverse"] == FIRST_M  # the other axis has the two
    one, two = (t.baseM, t.baseN) if along_n else (t.baseN, t.baseM)
    several = t.singleCoreN > t.baseN if along_n else t.singleCoreM > t.baseM
    steps = min(plain.stepKa, plain.stepKb)
    all_of_k = t.singleCoreK <= t.baseK * steps
    room = 2 * t.baseK * steps * bytes_of * (one + 2 * two) + t.baseN * 4 * asked["bias"]
    widened = (t.stepM, t.stepN) == ((1, 2) if along_n else (2, 1))
    assert widened == (several and all_of_k and room <= (asked["l1"] if asked["l1"] > 0 else L1))


def test_three_buffers(shim):
    asked = dict(m=256, n=512, k=192, cores=24)
    result, t, dims = ask(shim, schedule=2, **asked)
    assert result == 0 and t.stepM <= 3 and t.stepKa == t.stepKb == -(-t.singleCoreK // t.baseK) <= 3
    assert asked["m"] % t.singleCoreM == asked["n"] % t.singleCoreN == 0
    holds(t, dims, three=True, **asked)


def test_even_cuts_where_little_is_lost_and_all_cores_where_there_is_much(shim):
    for m, n, k in ((1024, 1024, 1024), (128, 2048, 1024), (640, 1024, 512), (7680, 480, 320)):
        _, t, _ = ask(shim, m=m, n=n, k=k, cores=24)
        assert m % t.singleCoreM == n % t.singleCoreN == 0 and t.usedCoreNum >= 16
    for m, n, k in ((8192, 8192, 8192), (4096, 11008, 4096)):
        _, t, _ = ask(shim, m=m, n=n, k=k, cores=24)
        whole = up(m, 16) * up(n, 16) / 24
        assert t.singleCoreM * t.singleCoreN <= 1.1 * whole  # no core has a tenth more than its share
    _, t, _ = ask(shim, m=16, n=16, k=4096, cores=24, split_k=1)
    assert t.usedCoreNum > 8 and 4096 % t.singleCoreK == 0


def test_host_class_and_plain_struct_are_the_same_bytes(shim):
    asked = dict(m=1000, n=640, k=256, cores=20, bias=1)
    _, plain, _ = ask(shim, **asked)
    _, hosted, _ = ask(shim, host_class=1, **asked)
    assert bytes(plain) == bytes(hosted) and plain.baseM


@pytest.mark.parametrize(
    "trans_b, depths",
    [(1, (4, 8, 2, 4)), (0, (16, 4, 8, 2))],  # the first is published: asc-devkit, matmul_high_performance, case 4
)
def test_l1_is_shared_as_cann_shares_it(shim, trans_b, depths):
    asked = dict(single_m=2048, single_n=1536, single_k=8192, base_m=128, base_n=256, trans_b=trans_b)
    result, t, _ = ask(shim, m=8192, n=8192, k=8192, cores=24, **asked)
    assert result == 0 and t.baseK == 64 and (t.depthA1, t.depthB1, t.stepKa, t.stepKb) == depths


@pytest.mark.parametrize("axis", "mnk")
def test_a_range_of_one_axis_is_kept(shim, axis):
    product = dict(m=1024, n=1024, k=1024, cores=8, split_k=1)

    def part(**bound) -> int:
        done, t, _ = ask(shim, **product, **bound)
        assert done == 0
        return {"m": t.singleCoreM, "n": t.singleCoreN, "k": t.singleCoreK}[axis]

    free = part()
    assert part(**{f"max_{axis}": free // 2}) <= free // 2
    least = min(2 * free, product[axis])
    small = part(**{f"max_{axis}": 256})
    assert small <= 256 < part(**{f"min_{axis}": max(least, 512)})
