"""Matmul objects that the cube core calls itself: blocks in L0C, operands in L1,
the kernel's own copies, the rarer types.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from matmul_case import from_nz, tiling, to_nz, torch_of, up  # noqa: E402
from places import KERNELS  # noqa: E402
from same import equal  # noqa: E402

import labkit  # noqa: E402

(L0C, L1, OWN, OWN_MDL, SUMMED, ADDED, UPPER, LOWER, INT4, GEMV, SPLIT, BASIC, STATIC, SPARSE, SPARSE_NZ) = range(15)
SIDE = st.one_of(st.integers(1, 40), st.sampled_from([48, 64, 65, 100]))
some = settings(max_examples=30)


@pytest.fixture(scope="module")
def cube():
    kernels = {}

    def run(
        kind,
        m,
        n,
        k,
        base=(32, 32, 32),
        *,
        a="half",
        c="float",
        trans_a=False,
        trans_b=False,
        bias=False,
        flag=0,
        seed=0,
        most=9,
        out=None,
        schedule="program",
        **fields,
    ):
        rng = np.random.default_rng(seed)
        if schedule not in kernels:
            kernels[schedule] = labkit.kernel(KERNELS / "matmul_cube.asc", schedule=schedule)
        x, y = (rng.integers(-most, most + 1 if most > 7 else most, s).astype(np.float64) for s in ((m, k), (k, n)))
        offset = rng.integers(-50, 50, n).astype(np.float64)
        sides = [np.ascontiguousarray(s.T if t else s) for s, t in ((x, trans_a), (y, trans_b))]
        if a == "int4":
            sides = [
                ((s.reshape(-1, 2)[:, 0].astype(np.int64) & 15) | (s.reshape(-1, 2)[:, 1].astype(np.int64) & 15) << 4)
                .astype(np.uint8)
                .view(np.int8)
                for s in sides
            ]
        result = torch_of(np.full(out or m * n, 77.0), c).npu()
        ask = kernels[schedule].struct(
            "Ask", kind=kind, transA=int(trans_a), transB=int(trans_b), bias=int(bias), flag=flag
        )
        kind_of = "int8" if a == "int4" else a
        record = kernels[schedule][1](
            torch_of(sides[0], kind_of).npu(),
            torch_of(sides[1], kind_of).npu(),
            torch_of(offset, "int32" if a == "int4" else "float").npu(),
            result,
            torch.from_numpy(tiling(m, n, k, base, isBias=int(bias), **fields)).npu(),
            ask,
        )
        told = {"static-state"} if kind in (OWN, OWN_MDL) else set()  # the copies are told of shapes by statics
        assert record.finished and set(record.codes()) == told, record.report()
        got = result.cpu().to(torch.float64).numpy()
        return got if out else got.reshape(m, n), x @ y + (offset if bias else 0)

    return run


@some
@given(SIDE, SIDE, SIDE, st.booleans(), st.booleans(), st.booleans(), st.sampled_from(["program", "worst"]))
def test_blocks_that_stay_in_l0c(cube, m, n, k, trans_a, trans_b, bias, schedule):
    got, want = cube(L0C, m, n, k, trans_a=trans_a, trans_b=trans_b, bias=bias, schedule=schedule)
    assert equal(got, want)


@some
@given(SIDE, SIDE, SIDE, st.booleans(), st.booleans(), st.booleans(), st.sampled_from(["program", "worst"]))
def test_operands_in_l1(cube, m, n, k, trans_a, trans_b, bias, schedule):
    got, want = cube(L1, m, n, k, trans_a=trans_a, trans_b=trans_b, bias=bias, schedule=schedule)
    assert equal(got, want)


@some
@given(
    SIDE, SIDE, SIDE, st.booleans(), st.booleans(), st.booleans(), st.integers(1, 2), st.integers(1, 3), st.booleans()
)
def test_copies_by_the_kernel(cube, m, n, k, trans_a, trans_b, relu, step, steps, mdl):
    fields = dict(stepM=step, stepN=step, stepKa=steps, stepKb=steps, depthA1=step * steps, depthB1=2 * step * steps)
    got, want = cube(
        OWN_MDL if mdl else OWN, m, n, k, (32, 32, 16), trans_a=trans_a, trans_b=trans_b, flag=int(relu), **fields
    )
    assert equal(got, np.maximum(want, 0) if relu else want)


def test_a_second_product_on_top(cube):
    got, want = cube(SUMMED, 32, 32, 50)
    assert equal(got, 2 * want)


def test_the_core_s_own_atomic_mode(cube):
    got, want = cube(ADDED, 40, 50, 60, bias=True)
    assert equal(got, want + 77)


@pytest.mark.parametrize("kind", [UPPER, LOWER])
def test_a_triangle_of_blocks(cube, kind):
    got, want = cube(kind, 70, 70, 40)
    row, col = np.indices((70, 70)) // 32
    there = row <= col if kind == UPPER else row >= col
    assert equal(got, np.where(there, want, 77))


@some
@given(SIDE, st.integers(1, 40), st.integers(1, 60), st.booleans(), st.booleans())
def test_int4(cube, m, n, k, trans_a, trans_b):
    m, n, k = up(m, 2), up(n, 2), up(k, 2)
    got, want = cube(
        INT4, m, n, k, (64, 64, 64), a="int4", c="int32", trans_a=trans_a, trans_b=trans_b, bias=True, most=7
    )
    assert equal(got, want)


def test_a_vector_for_a(cube):
    got, want = cube(GEMV, 1, 70, 90, trans_b=True, bias=True)
    assert equal(got, want)


def test_columns_of_eight(cube):
    got, want = cube(SPLIT, 40, 48, 30, a="float", out=48 * 48)
    assert equal(from_nz(got, 40, 48, 8), want)


def test_tilings_of_the_kernel_s_own(cube):
    for kind, shape, base in ((BASIC, (64, 96, 64), (16, 16, 16)), (STATIC, (48, 64, 80), (16, 16, 16))):
        got, want = cube(kind, *shape, base)
        assert equal(got, want)


@some
@given(SIDE, SIDE, st.integers(1, 20), st.booleans(), st.booleans(), st.integers(0, 99))
def test_two_of_every_four(m, n, groups, trans_a, nz, seed):
    rng = np.random.default_rng(seed)
    k = 8 * groups
    a, b = rng.integers(-100, 100, (m, k)), np.zeros((n, k), np.int64)
    kept, bits = rng.integers(-100, 100, (n, k // 2)), np.zeros((up(k, 64) // 64, up(n, 16), 8), np.uint8)
    for row in range(n):
        for i in range(0, k // 2, 2):
            first, second = sorted(rng.choice(4, 2, replace=False))
            b[row, 2 * i + first], b[row, 2 * i + second] = kept[row, i], kept[row, i + 1]
            bits[i // 32, row, i // 4 % 8] |= (first | (second - 1) << 2) << i % 4 * 2
    kernel = labkit.kernel(KERNELS / "matmul_cube.asc")
    c = torch.zeros(m, n, dtype=torch.int32).npu()
    record = kernel[1](
        torch_of(a.T if trans_a else a, "int8").npu(),
        torch_of(to_nz(kept, 32) if nz else kept, "int8").npu(),
        torch.from_numpy(bits).npu(),
        c,
        torch.from_numpy(tiling(m, n, k, (32, 32, 64))).npu(),
        kernel.struct("Ask", kind=SPARSE_NZ if nz else SPARSE, transA=int(trans_a), transB=1, bias=0, flag=0),
    )
    assert record.finished and not record.findings, record.report()
    assert equal(c.cpu().numpy(), a @ b.T)


LAYOUTS = """
#define ASCENDC_CUBE_ONLY
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
using namespace AscendC;
constexpr MatmulConfig Unflagged() {
    MatmulConfig c = CFG_NORM;
    c.enUnitFlag = false;
    return c;
}
constexpr MatmulConfig EVENTS = Unflagged();
template <CubeFormat a, CubeFormat b, bool units = true> __global__ __cube__ void product(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR tiling) {
    TCubeTiling t;
    for (uint32_t i = 0; i < sizeof(t) / 4; i++) ((uint32_t*)&t)[i] = ((__gm__ uint32_t*)tiling)[i];
    TPipe pipe;
    Matmul<MatmulType<TPosition::GM, a, half>, MatmulType<TPosition::GM, b, half>, MatmulType<TPosition::GM, CubeFormat::ND, float>, MatmulType<TPosition::GM, CubeFormat::ND, float>, (units ? CFG_NORM : EVENTS)> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
    GlobalTensor<half> gx, gy;
    GlobalTensor<float> gz;
    gx.SetGlobalBuffer((__gm__ half*)x);
    gy.SetGlobalBuffer((__gm__ half*)y);
    gz.SetGlobalBuffer((__gm__ float*)z);
    mm.SetTensorA(gx);
    mm.SetTensorB(gy);
    mm.IterateAll(gz);
    mm.End();
}
"""


def product(a: str, b: str, m=64, n=96, k=128, units=True, **fields):
    import labkit

    kernel = labkit.kernel(
        text=LAYOUTS,
        filename="layouts.asc",
        entry=f"product<CubeFormat::{a}, CubeFormat::{b}, {str(units).lower()}>",
        timing_only=True,
    )
    t = tiling(m, n, k, (32, 32, 64), **fields).tobytes()
    x, y, z = (torch.zeros(s).to(d).npu() for s, d in ((m * k, torch.half), (k * n, torch.half), (m * n, torch.float)))
    return kernel[1](x, y, z, t)


def test_each_operand_is_loaded_as_it_lies():
    """Rows are turned into fractals on the way, fractals are copied: each by its own route, whatever the other does."""
    way = {
        (a, b): [product(a, b).cores[0][f"bytes.{way}"] for way in ("to_l1_nz", "to_l1")]
        for a in ("ND", "NZ")
        for b in ("ND", "NZ")
    }
    of_a, of_b = way["ND", "NZ"]
    assert of_a > 0 and of_b > 0 and way["NZ", "ND"] == [of_b, of_a]
    assert way["ND", "ND"] == [of_a + of_b, 0] and way["NZ", "NZ"] == [0, of_a + of_b]


def test_more_in_l1_than_there_is():
    record = product("ND", "ND", depthA1=128, depthB1=64)
    assert record.codes() == ["matmul-tiling"] and "524288 (L1)" in record.report()
    assert product("ND", "ND", depthA1=64, depthB1=32, stepKa=2, stepKb=2).ok


def test_fixpipe_waiting_for_unit_flags_is_busy_to_the_profiler_and_idle_to_explain():
    from labkit.analysis import explain

    shape = dict(m=128, n=256, k=512, baseM=128, baseN=256)
    events, units = (product("ND", "ND", units=u, **shape) for u in (False, True))
    (one,), (two,) = events.cores, units.cores
    assert one["unit_wait"] == 0 and two["unit_wait"] > 0.3 * two["time"]
    assert two["busy.FIX"] == pytest.approx(one["busy.FIX"] + two["unit_wait"], rel=0.02)
    shares = [explain(r).facts.pipes["FIX"] for r in (events, units)]
    assert shares[1] == pytest.approx(shares[0], rel=0.02) and explain(units).bound.pipe == "MTE2"
    shown = units.timeline[units.timeline["pipe"] == units.pipe_names.index("FIX")]
    assert (shown["end"] - shown["start"]).sum() == pytest.approx(one["busy.FIX"], rel=0.02)
