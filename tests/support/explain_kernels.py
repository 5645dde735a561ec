"""Kernels with one thing wrong, and the same kernels without it: labkit.explain must name which, and by how much."""

from __future__ import annotations

from twin_launch import tensor

import labkit

# Tiles through queues: `tile` floats, `buffers` a queue, `rounds` of arithmetic.
QUEUES = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void queues(GM_ADDR x, GM_ADDR z, uint32_t tile, uint32_t count, uint32_t buffers, uint32_t rounds) {
    GlobalTensor<float> gx, gz;
    gx.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * tile * count);
    gz.SetGlobalBuffer((__gm__ float*)z + GetBlockIdx() * tile * count);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, buffers, tile * sizeof(float));
    pipe.InitBuffer(out, buffers, tile * sizeof(float));
    for (uint32_t i = 0; i < count; i++) {
        LocalTensor<float> a = in.AllocTensor<float>();
        DataCopy(a, gx[i * tile], tile);
        in.EnQue(a);
        a = in.DeQue<float>();
        LocalTensor<float> b = out.AllocTensor<float>();
        Adds(b, a, 1.0f, tile);
        for (uint32_t r = 1; r < rounds; r++) {
            Muls(b, b, 2.0f, tile);
        }
        in.FreeTensor(a);
        out.EnQue(b);
        b = out.DeQue<float>();
        DataCopy(gz[i * tile], b, tile);
        out.FreeTensor(b);
    }
}
"""

# y lies `apart` bytes behind x: a multiple of 512 puts both into the same bank groups, and z then into their bank as
# well.
BANKS = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void banks(GM_ADDR x, GM_ADDR z, uint32_t n, uint32_t apart, uint32_t rounds) {
    InitSocState();
    GlobalTensor<float> gx, gz;
    gx.SetGlobalBuffer((__gm__ float*)x);
    gz.SetGlobalBuffer((__gm__ float*)z);
    LocalTensor<float> a(TPosition::VECIN, 0, n), b(TPosition::VECIN, n * 4 + apart, n), c(TPosition::VECOUT, apart ? 131072 : n * 12, n);
    DataCopy(a, gx, n);
    DataCopy(b, gx, n);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    for (uint32_t r = 0; r < rounds; r++) {
        Add(c, a, b, n);
    }
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(gz, c, n);
}
"""

# One element after the other, or all at once; or row by row with short instructions.
ELEMENTS = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void elements(GM_ADDR x, GM_ADDR z, uint32_t n, uint32_t how) {
    InitSocState();
    GlobalTensor<float> gx, gz;
    gx.SetGlobalBuffer((__gm__ float*)x);
    gz.SetGlobalBuffer((__gm__ float*)z);
    LocalTensor<float> a(TPosition::VECIN, 0, n), c(TPosition::VECOUT, n * 4, n);
    DataCopy(a, gx, n);
    if (how == 0) {
        SetFlag<HardEvent::MTE2_S>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_S>(EVENT_ID0);
        for (uint32_t i = 0; i < n; i++) {
            c.SetValue(i, a.GetValue(i) + 1.0f);
        }
        SetFlag<HardEvent::S_MTE3>(EVENT_ID0);
        WaitFlag<HardEvent::S_MTE3>(EVENT_ID0);
    } else {
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
        uint32_t piece = how == 1 ? n : 64;
        for (uint32_t i = 0; i < n; i += piece) {
            Adds(c[i], a[i], 1.0f, piece);
            Muls(c[i], c[i], 2.0f, piece);
        }
        SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    }
    DataCopy(gz, c, n);
}
"""

# Barriers for all pipes, or events and two places for each tile.
BARRIERS = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void barriers(GM_ADDR x, GM_ADDR z, uint32_t tile, uint32_t count, uint32_t events) {
    InitSocState();
    GlobalTensor<float> gx, gz;
    gx.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * tile * count);
    gz.SetGlobalBuffer((__gm__ float*)z + GetBlockIdx() * tile * count);
    if (events) {
        for (int32_t b = 0; b < 2; b++) {
            SetFlag<HardEvent::V_MTE2>(b);
            SetFlag<HardEvent::MTE3_V>(b);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        int32_t b = events ? int32_t(i % 2) : 0;
        LocalTensor<float> a(TPosition::VECIN, 2 * b * tile * 4, tile), c(TPosition::VECOUT, (2 * b + 1) * tile * 4, tile);
        if (events) WaitFlag<HardEvent::V_MTE2>(b);
        DataCopy(a, gx[i * tile], tile);
        if (events) SetFlag<HardEvent::MTE2_V>(b);
        if (events) WaitFlag<HardEvent::MTE2_V>(b);
        if (events) WaitFlag<HardEvent::MTE3_V>(b);
        if (!events) PipeBarrier<PIPE_ALL>();
        Exp(c, a, tile);
        Ln(c, c, tile);
        if (events) SetFlag<HardEvent::V_MTE2>(b);
        if (events) SetFlag<HardEvent::V_MTE3>(b);
        if (events) WaitFlag<HardEvent::V_MTE3>(b);
        if (!events) PipeBarrier<PIPE_ALL>();
        DataCopy(gz[i * tile], c, tile);
        if (events) SetFlag<HardEvent::MTE3_V>(b);
        if (!events) PipeBarrier<PIPE_ALL>();
    }
    if (events) {
        for (int32_t b = 0; b < 2; b++) {
            WaitFlag<HardEvent::V_MTE2>(b);
            WaitFlag<HardEvent::MTE3_V>(b);
        }
    }
}
"""


# `rows` rows of `width` floats, `gap` blocks of 32 bytes apart in GM.
ROWS = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void rows(GM_ADDR x, GM_ADDR z, uint32_t rows, uint32_t width, uint32_t gap, uint32_t count) {
    InitSocState();
    GlobalTensor<float> gx, gz;
    gx.SetGlobalBuffer((__gm__ float*)x);
    gz.SetGlobalBuffer((__gm__ float*)z);
    LocalTensor<float> a(TPosition::VECIN, 0, rows * width);
    for (uint32_t i = 0; i < count; i++) {
        DataCopyParams p(gap ? rows : 1, gap ? width / 8 : rows * width / 8, gap, 0);
        DataCopy(a, gx[i * rows * (width + gap * 8)], p);
    }
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Adds(a, a, 1.0f, rows * width);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(gz, a, rows * width);
}
"""


def queues(tile=2048, count=16, buffers=1, rounds=4, blocks=1, shift=0):
    """shift: floats by which GM is not aligned."""
    n = tile * count * blocks
    x, z = tensor(f"float {n + 32}"), tensor(f"float {n + 32}")
    return _run(QUEUES, blocks, x[shift : shift + n], z[shift : shift + n], tile, count, buffers, rounds)


def rows(gap=0, rows=128, width=64, count=8, shift=0):
    """shift: floats by which GM is not aligned."""
    n = rows * (width + gap * 8) * count
    x = tensor(f"one float {n + 32}")  # one number: the copies go to one place, and with others that would be found
    return _run(ROWS, 1, x[shift : shift + n], x.new_empty(rows * width), rows, width, gap, count)


def banks(apart=0, n=4096, rounds=64):
    x = tensor(f"float {n}")
    return _run(BANKS, 1, x, x.new_empty(x.shape), n, apart, rounds)


def elements(how=0, n=4096):
    x = tensor(f"float {n}")
    return _run(ELEMENTS, 1, x, x.new_empty(x.shape), n, how)


def barriers(events=0, tile=4096, count=12, blocks=4):
    x = tensor(f"float {tile * count * blocks}").abs() + 1
    return _run(BARRIERS, blocks, x, x.new_empty(x.shape), tile, count, events)


def ladder(step: int, blocks: int, rows: int = 192, width: int = 8192):
    x, y = tensor(f"half {rows * width}"), tensor(f"half {rows * width}")
    record = labkit.kernel("kernels/add_ladder/add_ladder.asc", entry=f"add_ladder<{step}>")[blocks](
        x, y, x.new_empty(x.shape), rows, width
    )
    assert record.ok, record.report()
    return record


def _run(source: str, blocks: int, *arguments):
    record = labkit.kernel(text=source, filename=source.split("void ")[1].split("(")[0] + ".asc")[blocks](*arguments)
    assert record.ok, record.report()
    return record
