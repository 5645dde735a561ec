"""Compare and Select in their mask/repeat forms: strided operands, bits of repeat after repeat, lanes left alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from same import equal  # noqa: E402

import labkit

TEXT = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void forms(GM_ADDR x, GM_ADDR y, GM_ADDR bits, GM_ADDR z, uint32_t op, uint32_t lanes, uint32_t times, uint32_t stride) {
    constexpr uint32_t kMost = 1024;
    TPipe pipe;
    TBuf<> bufX, bufY, bufB, bufZ;
    pipe.InitBuffer(bufX, kMost * 4);
    pipe.InitBuffer(bufY, kMost * 4);
    pipe.InitBuffer(bufB, 256);
    pipe.InitBuffer(bufZ, kMost * 4);
    LocalTensor<float> a = bufX.Get<float>(), b = bufY.Get<float>(), c = bufZ.Get<float>();
    LocalTensor<uint8_t> m = bufB.Get<uint8_t>();
    GlobalTensor<float> gx, gy, gz;
    GlobalTensor<uint8_t> gb;
    gx.SetGlobalBuffer((__gm__ float*)x, kMost);
    gy.SetGlobalBuffer((__gm__ float*)y, kMost);
    gz.SetGlobalBuffer((__gm__ float*)z, kMost);
    gb.SetGlobalBuffer((__gm__ uint8_t*)bits, 256);
    DataCopy(a, gx, kMost);
    DataCopy(b, gy, kMost);
    DataCopy(c, gz, kMost);
    DataCopy(m, gb, 256);
    PipeBarrier<PIPE_ALL>();
    BinaryRepeatParams two(1, 1, 1, 8, uint8_t(stride), 8);
    UnaryRepeatParams one(1, 1, 8, uint8_t(stride));
    uint64_t mask[2] = {0x5555555555555555ull, 0};
    if (op == 0) Compare(m, a, b, CMPMODE::LT, uint64_t(lanes), uint8_t(times), two);
    if (op == 1) CompareScalar(m, a, 0.5f, CMPMODE::GE, uint64_t(lanes), uint8_t(times), one);
    if (op == 2) Select(c, m, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, uint64_t(lanes), uint8_t(times), two);
    if (op == 3) Select(c, m, a, b, SELMODE::VSEL_CMPMASK_SPR, mask, uint8_t(times), two);
    if (op == 4) Select(c, m, a, -1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, uint64_t(lanes), uint8_t(times), two);
    PipeBarrier<PIPE_ALL>();
    DataCopy(gb, m, 256);
    DataCopy(gz, c, kMost);
    PipeBarrier<PIPE_ALL>();
}
"""
LANES, MOST = 64, 1024


def unpack(bits: np.ndarray, repeats: int) -> np.ndarray:
    return np.unpackbits(bits, bitorder="little")[: repeats * LANES].reshape(repeats, LANES).astype(bool)


@pytest.mark.parametrize("op", range(5))
@pytest.mark.parametrize("lanes, times, stride", [(64, 3, 8), (64, 4, 0), (17, 2, 16), (64, 1, 8), (5, 7, 8)])
def test_forms(op, lanes, times, stride):
    draw = np.random.default_rng(7)
    x, y, z = (draw.standard_normal(MOST).astype(np.float32) for _ in range(3))
    bits = draw.integers(0, 256, 256, dtype=np.uint8)
    device = [torch.from_numpy(v.copy()).npu() for v in (x, y, bits, z)]
    record = labkit.kernel(text=TEXT, filename="forms.asc")[1](*device, op, lanes, times, stride)
    assert record.ok and not record.findings, record.report()
    got_bits, got = device[2].cpu().numpy(), device[3].cpu().numpy()

    a = np.stack([x[i * stride * 8 : i * stride * 8 + LANES] for i in range(times)])
    b = y[: times * LANES].reshape(times, LANES)
    if op < 2:  # the mask is ignored; nothing beyond the repeats' bits is touched
        want = a < b if op == 0 else a >= np.float32(0.5)
        assert (unpack(got_bits, times) == want).all() and (got_bits[times * 8 :] == bits[times * 8 :]).all()
        assert (got == z).all()
        return
    chosen = np.tile(unpack(bits, 1), (times, 1)) if op == 3 else unpack(bits, times)
    active = np.arange(LANES) % 2 == 0 if op == 3 else np.arange(LANES) < lanes
    want = z.copy().reshape(-1, LANES)
    want[:times] = np.where(active, np.where(chosen, a, b if op != 4 else np.float32(-1)), want[:times])
    assert (got.reshape(-1, LANES) == want).all() and (got_bits == bits).all()


def test_a_buffer_over_all_of_ub_may_keep_clear_of_what_select_uses():
    text = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void choose(GM_ADDR x, GM_ADDR z) {
    GlobalTensor<float> gx, gz;
    gx.SetGlobalBuffer((__gm__ float*)x);
    gz.SetGlobalBuffer((__gm__ float*)z);
    TPipe pipe;
    TBuf<> all;
    pipe.InitBuffer(all, 192 * 1024);
    LocalTensor<float> a = all.Get<float>();
    LocalTensor<uint8_t> bits = all.Get<uint8_t>()[1024];
    DataCopy(a, gx, 64);
    PipeBarrier<PIPE_ALL>();
    CompareScalar(bits, a, 0.0f, CMPMODE::GT, 64);
    Select(a, bits, a, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
    PipeBarrier<PIPE_ALL>();
    DataCopy(gz, a, 64);
}
"""
    x = torch.randn(64)
    z = torch.empty(64).npu()
    record = labkit.kernel(text=text, filename="choose.asc")[1](x.npu(), z)
    assert record.ok and not record.findings, record.report()
    assert equal(z.cpu(), x.clamp(min=0))
