"""The schedule that delays every transfer: a race shows in the numbers, correct kernels keep theirs."""

import contextlib
import io

import pytest

torch = pytest.importorskip("torch")
import labkit  # noqa: E402

# enter: wait for the load before computing; leave: wait for the result before storing; reuse: wait for the store
# before overwriting its source.
KERNEL = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR z, uint32_t enter, uint32_t leave, uint32_t reuse) {
    constexpr uint32_t n = 64;
    GlobalTensor<float> in, out;
    in.SetGlobalBuffer((__gm__ float*)x, n);
    out.SetGlobalBuffer((__gm__ float*)z, n);
    LocalTensor<float> a(TPosition::VECIN, 0, n), b(TPosition::VECOUT, 1024, n);
    Duplicate(a, -5.0f, n);
    Duplicate(b, -7.0f, n);
    PipeBarrier<PIPE_ALL>();
    DataCopy(a, in, n);
    if (enter) {
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    }
    Adds(b, a, 1.0f, n);
    if (leave) {
        SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    }
    DataCopy(out, b, n);
    if (reuse) {
        SetFlag<HardEvent::MTE3_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE3_V>(EVENT_ID0);
    }
    Duplicate(b, 9.0f, n);
}
"""


def first(schedule, *waits):
    x, z = torch.arange(64.0).npu(), torch.zeros(64).npu()
    with contextlib.redirect_stdout(io.StringIO()):
        record = labkit.kernel(text=KERNEL, schedule=schedule)[1](x, z, *waits)
    return z.cpu()[3].item(), sorted({f.code for f in record.findings})


@pytest.mark.parametrize(
    "waits, code, late",
    [
        ((1, 1, 1), [], 4.0),  # all in order
        ((0, 1, 1), ["race-raw"], -4.0),  # computed from what was there before the load
        ((1, 0, 1), ["race-raw"], -7.0),  # stored what was there before the sum
        ((1, 1, 0), ["race-war"], 9.0),
    ],
)  # stored what came after it
def test_each_missing_wait_shows_in_the_numbers(waits, code, late):
    assert first("program", *waits) == (4.0, code)
    assert first("worst", *waits) == (late, code)


def test_no_other_schedule():
    with pytest.raises(ValueError, match="worst"):
        labkit.kernel(text=KERNEL, schedule="best")
