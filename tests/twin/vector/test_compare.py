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


OVER = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void over(GM_ADDR x, uint32_t form, uint32_t dst, uint32_t n) {
    TPipe pipe;
    TBuf<> bufX, bufB;
    pipe.InitBuffer(bufX, 2 * 4096 * 4);
    pipe.InitBuffer(bufB, 4096 * 4);
    LocalTensor<float> a = bufX.Get<float>(), b = a[4096], bits = bufB.Get<float>();
    LocalTensor<uint8_t> m = bits.ReinterpretCast<uint8_t>();
    GlobalTensor<float> gx;
    gx.SetGlobalBuffer((__gm__ float*)x, 4096);
    DataCopy(a, gx, 4096);
    DataCopy(b, gx, 4096);
    DataCopy(bits, gx, 4096);
    PipeBarrier<PIPE_ALL>();
    uint64_t lanes = 64;
    BinaryRepeatParams rep(1, 1, 1, 8, 8, 8);
    if (form == 0) Compare(a[dst].ReinterpretCast<uint8_t>(), a, b, CMPMODE::LT, n);
    if (form == 1) Compare(a[dst].ReinterpretCast<uint8_t>(), b, a, CMPMODE::LT, n);
    if (form == 2) CompareScalar(a[dst].ReinterpretCast<uint8_t>(), a, 0.0f, CMPMODE::LT, n);
    if (form == 3) Compare(a[dst].ReinterpretCast<uint8_t>(), a, b, CMPMODE::LT, lanes, uint8_t(n / 64), rep);
    if (form == 4) Select(a[dst], m, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, n);
    if (form == 5) Select(a[dst], m, b, a, SELMODE::VSEL_CMPMASK_SPR, n);
    if (form == 6) Select(a[dst], m, a, 1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, n);
    if (form == 7) Select(bits[dst], m, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, n);
    if (form == 8) Select(bits[dst], m, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, lanes, uint8_t(n / 64), rep);
    if (form == 9) Select(bits[dst], m, a, b, SELMODE::VSEL_CMPMASK_SPR, n);
    if (form == 10) {
        SetMaskCount();
        SetVectorMask<float, MaskMode::COUNTER>(0, n);
        Compare<float, false>(a, b, CMPMODE::EQ, MASK_PLACEHOLDER, rep);
        SetMaskNorm();
        ResetMask();
        GetCmpMask(a);
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(gx, a, 4096);
}
"""


@pytest.fixture(scope="module")
def over(tmp_path_factory):
    file = tmp_path_factory.mktemp("over") / "over.asc"
    file.write_text(OVER)
    kernel = labkit.kernel(file)
    return lambda *args: kernel[1](torch.arange(4096, dtype=torch.float32).npu(), *args)


@pytest.mark.parametrize(
    "form, dst, n",
    [(0, 64, 512), (1, 504, 512), (2, 64, 128), (3, 64, 512), (4, 8, 512), (5, 8, 64), (6, 8, 512), (7, 0, 128)]
    + [(8, 0, 128)],
)
def test_bits_over_what_is_still_to_be_read(over, form, dst, n):
    assert [f.code for f in over(form, dst, n).findings] == ["overlap"]


@pytest.mark.parametrize(
    "form, dst, n",
    [(0, 0, 4096), (0, 8, 64), (2, 512, 512), (3, 0, 4096), (4, 0, 512), (5, 0, 500), (6, 512, 512), (7, 0, 64)]
    + [(7, 64, 512), (8, 64, 512), (9, 0, 512)],
)
def test_bits_in_place_or_apart(over, form, dst, n):
    assert not over(form, dst, n).findings


@pytest.mark.parametrize("n", [64, 100_000, 1 << 24])
def test_a_register_has_one_repeat_of_bits_in_counter_mode_too(over, n):
    assert not over(10, 0, n).findings
