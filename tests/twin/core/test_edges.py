"""The limits of the checks are exact: the most that is allowed gives no finding, one more does."""

from __future__ import annotations

import pytest
from places import KERNELS

import labkit
from labkit import chips
from labkit.launch import record

UB = chips.load()["memory"]["ub"]
CASES = [  # what, the most that is allowed, the code of one more (or of this much)
    (0, 512, "local-bounds"),
    (1, 512, "local-bounds"),
    (2, 256, "local-bounds"),
    (3, 256, "local-bounds"),
    (4, 256, "local-bounds"),
    (5, 128, "mask-lanes"),
    (6, 2, "local-bounds"),
    (7, 13, "local-bounds"),
    (8, 32, "local-bounds"),
    (9, 512, ("local-bounds", 544)),
    (10, 512, "local-bounds"),
    (11, 32, "copy-params"),
    (12, 24, "gm-bounds"),
    (13, 1024, "gm-bounds"),
    (14, 24, "gm-bounds"),
    (15, 255, "local-bounds"),
    (16, 128, "local-bounds"),
    (17, 64, "local-bounds"),
    (18, 16, "local-bounds"),
    (19, 32, "copy-params"),
    (20, UB, "ub-budget"),
    (21, 8, "queue-buffers"),
    (22, UB // 2, "ub-budget"),
    (23, 2, "queue-depth"),
    (24, 8, "event-id"),
    (25, 128, "local-bounds"),
    (26, 8, "event-exhausted"),
    (28, 256, "gather-offset"),
    (29, 256, "gather-offset"),
    (30, 16, "gather-offset"),
    (31, 310, ("gather-offset", 312)),
    (32, 64, "local-bounds"),
]


@pytest.fixture(scope="module")
def codes():
    import torch

    k = labkit.kernel(KERNELS / "edges.asc")
    x = torch.zeros(1024, dtype=torch.int8).npu()
    z = torch.zeros(1024, dtype=torch.int8).npu()

    def run(what, n):
        try:
            return k[1](x, z, what, n).codes()
        except record.LaunchError as error:
            return error.record.codes()

    return run


@pytest.mark.parametrize("what, most, code", CASES)
def test_edge(codes, what, most, code):
    assert codes(what, most) == []
    code, beyond = code if isinstance(code, tuple) else (code, most + 1)
    assert codes(what, beyond)[:1] == [code]  # what lies behind may be the other operand: then they overlap too


TABLE = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void table(GM_ADDR z, uint32_t blocks) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    TBuf<TPosition::C2PIPE2GM> table;
    pipe.InitBuffer(table, 2048);
    LocalTensor<uint64_t> l1(TPosition::C1, 0, 512);
    GlobalTensor<uint64_t> from;
    from.SetGlobalBuffer((__gm__ uint64_t*)z, 512);
    DataCopy(l1, from, 512);
    SetFlag<HardEvent::MTE2_FIX>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_FIX>(EVENT_ID0);
    DataCopy(table.Get<uint64_t>(), l1, DataCopyParams(1, blocks, 0, 0));
}
"""


def test_what_goes_to_the_fixpipes_table_is_counted_in_128_bytes():
    import torch

    k = labkit.kernel(text=TABLE)
    z = torch.zeros(512, dtype=torch.int64).npu()
    assert k[1](z, 16).codes() == []
    found = k[1](z, 17).findings
    assert [(f.code, f.numbers["need"]) for f in found][-1:] == [("local-bounds", 17 * 128)], found


HOLES = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void holes(GM_ADDR z, uint32_t what, uint32_t filled) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf, work;
    pipe.InitBuffer(buf, 256);
    pipe.InitBuffer(work, 512);
    LocalTensor<half> a = buf.Get<half>(), w = work.Get<half>();
    for (uint32_t b = 0; b < 8; b++)
        if (filled >> b & 1) Duplicate(a[16 * b], half(1), 16);
    PipeBarrier<PIPE_V>();
    if (what == 0) ReduceSum(w[128], a, w, 128);
    else if (what == 1) ReduceMax(w[128], a, w, 128);
    else WholeReduceSum(w[128], a, 128, 1, 1, 1, 8);
}
"""


@pytest.mark.parametrize("what", [0, 1, 2])
def test_a_hole_of_one_block_is_found_wherever_it_is(what):
    """What counts every lane wants every block filled: the first, the last and each between."""
    import torch

    k, z = labkit.kernel(text=HOLES, filename="holes.asc"), torch.zeros(32, dtype=torch.int8).npu()
    for hole in range(8):
        record_ = k[1](z, what, 0xFF ^ 1 << hole)
        assert record_.codes() == ["uninit-local"], (
            f"block {hole} of 8 was never filled: {record_.report() or 'no finding'}"
        )
    assert k[1](z, what, 0xFF).codes() == []


ORDER = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void order(GM_ADDR x, GM_ADDR z, uint32_t way, uint32_t without) {
    InitSocState();
    GlobalTensor<float> gx, gz;
    gx.SetGlobalBuffer((__gm__ float*)x);
    gz.SetGlobalBuffer((__gm__ float*)z);
    LocalTensor<float> a(TPosition::VECIN, 0, 64), b(TPosition::VECOUT, 1024, 64);
    TQueSync<PIPE_MTE2, PIPE_V> loaded;
    TQueSync<PIPE_V, PIPE_MTE3> ready;
    DataCopy(a, gx, 64);
    if (without == 1) {}
    else if (way == 0) { loaded.SetFlag(3); loaded.WaitFlag(3); }
    else if (way == 1) { set_flag(PIPE_MTE2, PIPE_V, 3); wait_flag(PIPE_MTE2, PIPE_V, 3); }
    else if (way == 2) { SetFlag<HardEvent::MTE2_V>(3); WaitFlag<HardEvent::MTE2_V>(3); }
    else pipe_barrier(PIPE_ALL);
    Adds(b, a, 1.0f, 64);
    if (without == 2) {}
    else if (way == 0) { ready.SetFlag(0); ready.WaitFlag(0); }
    else if (way == 1) { set_flag(PIPE_V, PIPE_MTE3, 0); wait_flag(PIPE_V, PIPE_MTE3, 0); }
    else if (way == 2) { SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0); }
    else pipe_barrier(PIPE_ALL);
    DataCopy(gz, b, 64);
    if (without == 3) ready.SetFlag(5);
    if (without == 4) ready.WaitFlag(6);
}
"""


@pytest.mark.parametrize("way", ["TQueSync", "set_flag", "SetFlag", "pipe_barrier"])
def test_every_spelling_of_a_flag_orders_the_same_two_pipes(way):
    """With it no finding; without it the race that it prevents;
    and it is its own pair of pipes that a message names.
    """
    import torch

    ways = ["TQueSync", "set_flag", "SetFlag", "pipe_barrier"]
    k, x = labkit.kernel(text=ORDER, filename="order.asc"), torch.ones(64).npu()
    for without, codes in ((0, []), (1, ["race-raw"]), (2, ["race-raw"]), (3, ["event-left"]), (4, ["event-unset"])):
        z = torch.zeros_like(x)
        try:
            seen = k[1](x, z, ways.index(way), without)
        except record.LaunchError as error:
            seen = error.record
        assert seen.codes() == codes, f"{way}, without {without}: {seen.report() or 'no finding'}"
        if codes and codes[0].startswith("event"):
            numbers = seen.findings[0].numbers
            assert "V_MTE3" in str(numbers) or (numbers.get("from"), numbers.get("to")) == ("V", "MTE3"), numbers
        if not without:
            assert (z.cpu() == 2).all()


NEIGHBOUR = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void neighbour(GM_ADDR x, GM_ADDR z, uint32_t by_itself, uint32_t away) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 256);
    GlobalTensor<float> g;
    g.SetGlobalBuffer((__gm__ float*)(by_itself ? z : x));
    DataCopy(buf.Get<float>(), g[by_itself ? 0 : away], 8);
}
"""


def test_an_access_through_one_argument_that_lands_in_another_is_found():
    """It belongs to the argument that its view was made from, although there is a tensor where it lands."""
    import torch

    first, second = sorted((torch.zeros(1024).npu() for _ in range(2)), key=lambda t: t.data_ptr())
    away = (second.data_ptr() - first.data_ptr()) // 4
    k = labkit.kernel(text=NEIGHBOUR, filename="neighbour.asc")

    def codes(*arguments):
        try:
            return k[1](*arguments).codes()
        except record.LaunchError as error:
            return error.record.codes()

    assert codes(first, second, 1, 0) == [], "through its own argument"
    assert codes(first, second, 0, away) == ["gm-bounds"], "through the other tensor's"


def test_what_a_kernel_says_comes_back_as_it_was_said():
    condition = r'x == nullptr && "a \"quote\", a \\, a tab\t, a bell\a, 核"[0]'
    text = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void speak(GM_ADDR x) { ascendc_assert(CONDITION, "a \\"quote\\", a tab\\t, 核"); }
"""
    import torch

    with pytest.raises(record.LaunchError) as error:
        labkit.kernel(text=text.replace("CONDITION", condition))[1](torch.zeros(8).npu())
    assert [f.numbers["expr"] for f in error.value.record.findings] == [condition]
    assert 'a "quote", a tab\t, 核' in error.value.record.output
