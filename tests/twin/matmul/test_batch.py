"""Batches of products against numpy's einsum: layouts, broadcast axes, sums over a group, several calls."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from matmul_case import tiling, torch_of, up  # noqa: E402
from places import KERNELS  # noqa: E402
from same import equal  # noqa: E402

import labkit  # noqa: E402
from labkit.build.headers import TREES  # noqa: E402

# of [b][n][g][s][d]
LAYOUTS = {"BSNGD": (0, 3, 1, 2, 4), "SBNGD": (3, 0, 1, 2, 4), "BNGS1S2": (0, 1, 2, 3, 4), "NORMAL": (0, 1, 2, 3, 4)}
ONE, SEVERAL, UB = range(3)


def number(layout: str) -> int:
    text = (TREES["kernel"] / "twin" / "matmul" / "config.h").read_text()
    return text.split("enum class LayoutMode")[1].split("{")[1].split("}")[0].replace(" ", "").split(",").index(layout)


@pytest.fixture(scope="module")
def batches():
    k = labkit.kernel(KERNELS / "matmul_batch.asc")

    def run(
        layout,
        axes_a,
        axes_b,
        m,
        n,
        kk,
        *,
        sum_g=False,
        trans_a=False,
        trans_b=False,
        bias=False,
        way=ONE,
        loops=1,
        seed=0,
    ):
        rng = np.random.default_rng(seed)
        axes_c = [max(x, y) for x, y in zip(axes_a, axes_b)]
        a = rng.integers(-9, 10, (*axes_a, m, kk)).astype(np.float64)
        b = rng.integers(-9, 10, (*axes_b, kk, n)).astype(np.float64)
        c = np.matmul(a, b)
        if sum_g:
            c, axes_c = c.sum(2, keepdims=True), [*axes_c[:2], 1]
        offsets = rng.integers(-9, 10, (*axes_c, 1, n)).astype(np.float64)
        stored = [np.swapaxes(x, 3, 4) if t else x for x, t in ((a, trans_a), (b, trans_b))]
        sides = [np.ascontiguousarray(x.transpose(LAYOUTS[layout])) for x in stored]
        shape = tuple(np.array((*axes_c, m, n))[list(LAYOUTS[layout])])
        fields = {}
        for letter, x in (("A", stored[0]), ("B", stored[1])):
            fields |= {f"{letter}LayoutInfo{name}": x.shape[i] for name, i in zip("BNGSD", range(5))}
        fields |= dict(
            CLayoutInfoB=axes_c[0],
            CLayoutInfoN=axes_c[1],
            CLayoutInfoG=axes_c[2],
            CLayoutInfoS1=m,
            CLayoutInfoS2=n,
            BatchNum=1,
        )
        t = tiling(m, n, kk, (up(m, 16), up(n, 16), 32), **fields)
        out = torch.full((int(np.prod(shape)),), 77.0).npu()
        ask = k.struct(
            "Ask",
            layout=number(layout),
            way=way,
            loops=loops,
            batchA=int(np.prod(axes_a)) // loops,
            batchB=int(np.prod(axes_b)) // loops,
            transA=int(trans_a),
            transB=int(trans_b),
            bias=int(bias),
        )
        record = k[1](
            torch_of(sides[0], "half").npu(),
            torch_of(sides[1], "half").npu(),
            torch_of(offsets, "float").npu(),
            out,
            torch.from_numpy(t).npu(),
            ask,
        )
        assert record.finished and not record.findings, record.report()
        want = (c + offsets if bias else c).transpose(LAYOUTS[layout]).ravel()
        assert equal(out.cpu().to(torch.float64).numpy(), want)

    return run


SIDE = st.integers(1, 40)
AXES = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))


@settings(max_examples=60)
@given(
    st.sampled_from(list(LAYOUTS)),
    AXES,
    SIDE,
    SIDE,
    SIDE,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(0, 99),
)
def test_matrix_by_matrix(batches, layout, axes, m, n, k, trans_a, trans_b, bias, seed):
    batches(layout, axes, axes, m, n, k, trans_a=trans_a, trans_b=trans_b, bias=bias, seed=seed)


@pytest.mark.parametrize("layout", ["BSNGD", "SBNGD", "BNGS1S2"])
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("side", range(2))
def test_one_matrix_for_a_whole_axis(batches, layout, axis, side):
    axes = [(2, 3, 4), [2, 3, 4]]
    axes[1][axis] = 1
    batches(layout, *(axes if side else axes[::-1]), 20, 30, 40, bias=True)


def test_one_matrix_for_several_in_a_row(batches):
    batches("NORMAL", (3, 1, 4), (3, 1, 1), 16, 24, 32)


@pytest.mark.parametrize("layout", ["BSNGD", "SBNGD", "BNGS1S2"])
def test_products_of_a_group_are_summed(batches, layout):
    batches(layout, (2, 2, 3), (2, 2, 3), 17, 24, 33, sum_g=True, bias=True)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "NORMAL"])
@pytest.mark.parametrize("loops", [1, 2, 3])
def test_batch_after_batch(batches, layout, loops):
    batches(layout, (3, 2, 1), (3, 2, 1), 20, 24, 40, way=SEVERAL, loops=loops, bias=True)


def test_into_ub(batches):
    batches("NORMAL", (3, 1, 1), (3, 1, 1), 16, 24, 40, way=UB, trans_b=True)


def test_batch_after_batch_has_no_plain_layout():
    from labkit.source.errors import CompileError

    text = (
        (KERNELS / "matmul_batch.asc").read_text().replace("if constexpr (layout != LayoutMode::NORMAL)", "if (true)")
    )
    with pytest.raises(CompileError, match="IterateNBatch takes matrices of the layouts BSNGD"):
        labkit.kernel(text=text, filename="refused.asc")
