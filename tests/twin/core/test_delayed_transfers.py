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


# What decides how an instruction works is read before it begins: the records of a merge, the bits of a mask.
EARLY = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR z, uint32_t merge) {
    constexpr uint32_t n = 64;
    GlobalTensor<float> in, out;
    in.SetGlobalBuffer((__gm__ float*)x, 3 * n);
    out.SetGlobalBuffer((__gm__ float*)z, 2 * n);
    LocalTensor<float> a(TPosition::VECIN, 0, 3 * n), b(TPosition::VECOUT, 1024, 2 * n);
    DataCopy(a, in, 3 * n);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    if (merge) {
        uint16_t runs[4] = {32, 32, 0, 0};
        MrgSort(b, MrgSortSrcList<float>(a, a[n], a, a), MrgSort4Info(runs, false, 3, 1));
    } else {
        Select(b, a.ReinterpretCast<uint8_t>(), a[n], a[2 * n], SELMODE::VSEL_CMPMASK_SPR, n, 1, {1, 1, 1, 8, 8, 8});
    }
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(out, b, merge ? 2 * n : n);
}
"""


@pytest.mark.parametrize("merge", [0, 1])
@pytest.mark.parametrize("schedule", ["program", "worst", "worst:3"])
def test_what_is_read_before_an_instruction_begins(schedule, merge):
    x = torch.zeros(192)
    if merge:
        x[:64:2], x[64:128:2] = torch.arange(32.0, 0, -1), torch.arange(32.5, 0.5, -1)
        want = torch.zeros(128)
        want[::2] = torch.arange(32.5, 0.5, -0.5)
    else:
        x[:2] = torch.tensor([0x55555555, 0x0F0F0F0F], dtype=torch.int32).view(torch.float32)
        x[64:128], x[128:] = torch.arange(64.0), -1.0
        bits = [0x55555555 >> i & 1 for i in range(32)] + [0x0F0F0F0F >> i & 1 for i in range(32)]
        want = torch.where(torch.tensor(bits, dtype=torch.bool), torch.arange(64.0), torch.tensor(-1.0))
    z = torch.zeros(len(want)).npu()
    record = labkit.kernel(text=EARLY, schedule=schedule)[1](x.npu(), z, merge)
    assert not record.findings and torch.equal(z.cpu(), want)


def test_no_other_schedule():
    with pytest.raises(ValueError, match="worst"):
        labkit.kernel(text=KERNEL, schedule="best")
    with pytest.raises(ValueError, match="worst"):
        labkit.kernel(text=KERNEL, schedule="worst:３")  # a full-width 3, which the runner read as 0
