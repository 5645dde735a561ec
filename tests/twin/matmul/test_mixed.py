"""Matmul objects of mixed kernels: operands and results in UB and L1, several objects,
shared operands, asynchronous blocks.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from matmul_case import tiling, torch_of  # noqa: E402
from places import KERNELS  # noqa: E402
from same import equal  # noqa: E402

import labkit  # noqa: E402
from labkit.launch import runner  # noqa: E402

(UB, TSCM, CHAINED, FOUR, SHARED, SHARED_ADD, DUAL, ASYNC, HANDED_OUT, PART) = range(10)
SIDE = st.integers(1, 60)
some = settings(max_examples=25)


@pytest.fixture(scope="module")
def mix():
    kernels = {s: labkit.kernel(KERNELS / "matmul_mix.asc", schedule=s) for s in ("program", "worst")}

    def run(
        kind,
        m,
        n,
        k,
        base=(32, 32, 32),
        *,
        matrices=1,
        trans_a=False,
        trans_b=False,
        most=9,
        schedule="program",
        seed=0,
    ):
        """C as it was and is, A, B and the bias."""
        rng = np.random.default_rng(seed)
        a, b = (
            rng.integers(-most, most + 1, (matrices, m, k)).astype(np.float64),
            rng.integers(-most, most + 1, (k, n)).astype(np.float64),
        )
        bias = rng.integers(-50, 50, n).astype(np.float64)
        before = rng.integers(-50, 50, (matrices, m, n)).astype(np.float64)
        c = torch_of(before, "float").npu()
        used = kernels[schedule]
        record = used[1](
            torch_of(np.swapaxes(a, 1, 2) if trans_a else a, "half").npu(),
            torch_of(b.T if trans_b else b, "half").npu(),
            torch_of(bias, "float").npu(),
            c,
            torch.zeros(65536).npu(),
            torch.from_numpy(tiling(m, n, k, base)).npu(),
            used.struct("Ask", kind=kind, transA=int(trans_a), transB=int(trans_b)),
        )
        assert record.finished and not record.findings, record.report()
        return c.cpu().to(torch.float64).numpy(), before, a, b, bias

    return run


@pytest.fixture(params=["program", "worst"])
def schedule(request):
    return request.param


@some
@given(SIDE, SIDE, SIDE, st.booleans(), st.booleans(), st.sampled_from(["program", "worst"]))
def test_a_and_bias_from_ub(mix, m, n, k, trans_a, trans_b, schedule):
    got, _, a, b, bias = mix(UB, m, n, k, trans_a=trans_a, trans_b=trans_b, schedule=schedule)
    assert equal(got[0], (a[0] + 1) @ b + bias)


@some
@given(SIDE, SIDE, SIDE, st.booleans(), st.booleans(), st.sampled_from(["program", "worst"]))
def test_a_from_tscm(mix, m, n, k, trans_a, trans_b, schedule):
    got, _, a, b, _ = mix(TSCM, m, n, k, matrices=2, trans_a=trans_a, trans_b=trans_b, schedule=schedule)
    assert equal(got, a @ b)


@some
@given(SIDE, st.booleans(), st.booleans(), st.sampled_from(["program", "worst"]))
def test_one_object_feeds_another(mix, n, trans_a, trans_b, schedule):
    got, _, a, b, _ = mix(CHAINED, n, n, n, trans_a=trans_a, trans_b=trans_b, most=2, schedule=schedule)
    assert equal(got[0], a[0] @ b @ a[0])


def test_a_cube_core_whose_stack_lies_above_the_vector_cores(mix):
    """A vector core gives its cube core instructions, on its own stack: how far that is from the other core's is no use
    of a stack. The cube core's is the higher one where a kernel for cube cores alone was launched first."""
    for child in runner._runners.values():
        child.stop()
    head = '#include "kernel_operator.h"\nusing namespace AscendC;\n__global__ __aicore__ void alone() '
    labkit.kernel(text=head + "{ KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY); PipeBarrier<PIPE_ALL>(); }")[1]()
    got, _, a, b, _ = mix(CHAINED, 16, 16, 16, most=2)  # which asserts that there is no finding
    assert equal(got[0], a[0] @ b @ a[0])


@pytest.mark.parametrize("turned", [False, True])
def test_four_objects(mix, turned, schedule):
    got, _, a, b, _ = mix(FOUR, 40, 50, 96, trans_a=turned, trans_b=turned, schedule=schedule)
    assert equal(got[0], a[0] @ b)


@pytest.mark.parametrize("kind", [SHARED, SHARED_ADD, DUAL])
def test_two_callers_one_product(mix, kind, schedule):
    got, before, a, b, _ = mix(kind, 40, 50, 60, schedule=schedule)
    assert equal(got[0], a[0] @ b + (before[0] if kind == SHARED_ADD else 0))


@pytest.mark.parametrize("kind", [ASYNC, HANDED_OUT])
def test_blocks_as_they_come(mix, kind, schedule):
    got, _, a, b, _ = mix(kind, 96, 64, 70, schedule=schedule)
    assert equal(got[0], 2 * (a[0] @ b))


@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
def test_parts_of_larger_matrices(mix, trans_a, trans_b):
    got, before, a, b, _ = mix(PART, 40, 64, 70, trans_a=trans_a, trans_b=trans_b)
    assert equal(got[0][:, 32:], a[0][:, 16:] @ b[16:, 32:])
    assert equal(got[0][:, :32], before[0][:, :32])
