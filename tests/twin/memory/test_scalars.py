"""What the scalar unit computes itself - half, bit counts, conversions - tensor expressions,
raw names, and what is refused.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from twin_golden import COMPARES, F16, F32, tree
from twin_image import HERE

import labkit
from labkit.source.errors import CompileError

FILE = HERE / "scalars.asc"
rng = np.random.default_rng(5)


def device(*arrays):
    return [torch.from_numpy(np.ascontiguousarray(a).view(f"i{a.itemsize}")).npu() for a in arrays]


def run(name, *arguments):
    record = labkit.kernel(FILE, entry=name)[1](*arguments)
    assert record.ok and not record.findings, record.report()


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def same(got, want):
    assert ((got == want) | (np.isnan(got) & np.isnan(want))).all(), list(zip(got[got != want], want[got != want]))[:5]


def test_half():
    n = 600
    special = np.array([0, -0.0, 1, -1, 0.5, 65504, -65504, np.inf, -np.inf, np.nan, 2**-24, 2**-14, 2048, 2049], F16)
    x, y = (
        np.concatenate(
            [
                np.repeat(special, 14) if i else np.tile(special, 14),
                rng.integers(0, 65536, n - 196, dtype=np.uint16).view(F16),
            ]
        )
        for i in (0, 1)
    )
    f = np.concatenate([rng.uniform(-70000, 70000, n // 2), rng.uniform(-1, 1, n // 2)]).astype(F32)
    out, wide, flags = np.zeros(n * 8, F16), np.zeros(n * 4, F32), np.zeros(n, np.int32)
    on = device(x, y, f, out, wide, flags)
    run("halves", *on, n)
    got = on[3].cpu().numpy().view(F16).reshape(n, 8)
    a, b = x.astype(F32), y.astype(F32)
    minus, product = (a - b).astype(F16).astype(F32), (a * b).astype(F16).astype(F32)
    for j, want in enumerate([a + b, minus + 2, product * F32(0.5), a / b, -a, a * 3, f, f]):
        same(got[:, j], want.astype(F16))
    got = on[4].cpu().numpy().view(F32).reshape(n, 4)
    for j, want in enumerate([a * f, 2 - a, a / F32(3), torch.from_numpy(f).bfloat16().float().numpy()]):
        same(got[:, j], want)
    flags = [a < b, a > b, a == b, a <= f, 0.5 >= a, a != 1]
    assert (on[5].cpu().numpy() == sum(v.astype(int) << i for i, v in enumerate(flags))).all()


@settings(max_examples=10)
@given(
    st.lists(
        st.integers(0, 2**64 - 1)
        | st.integers(0, 63).map(lambda i: 1 << i)
        | st.sampled_from([0, 2**64 - 1, 2**63, 2**63 - 1]),
        min_size=1,
        max_size=40,
    )
)
def test_bits(values):
    x, out = np.array(values, np.uint64), np.zeros(len(values) * 7, np.int64)
    on = device(x, out)
    run("bits", *on, len(values))
    for v, got in zip(values, on[1].cpu().numpy().reshape(-1, 7)):
        word = f"{v:064b}"
        same_as_sign = len(word) - len(word.lstrip(word[0])) - 1
        want = [
            word.count("0"),
            word.count("1"),
            len(word) - len(word.lstrip("0")),
            len(word) - len(word.lstrip("0")),
            -1 if v in (0, 2**64 - 1) else same_as_sign,
            word[::-1].find("0"),
            word[::-1].find("1"),
        ]
        assert list(got) == want, hex(v)


@settings(max_examples=10)
@given(
    st.lists(
        st.floats(width=32, allow_nan=False)
        | st.integers(-200, 200).map(lambda i: i / 2)
        | st.floats(-70000, 70000, width=32),
        min_size=1,
        max_size=40,
    )
)
def test_conversions(values):
    x = np.array(values, F32)
    on = device(x, np.zeros(len(x) * 4, np.int32), np.zeros(len(x), F16))
    run("conversions", *on, len(x))
    got, odd = on[1].cpu().numpy().reshape(-1, 4), on[2].cpu().numpy().view(F16)
    wide = x.astype(np.float64)
    away = np.copysign(np.floor(np.abs(wide) + 0.5), wide)
    for j, want in enumerate([away, np.ceil(wide), np.floor(wide), np.rint(wide)]):
        assert (got[:, j] == np.clip(want, -(2**31), 2**31 - 1)).all()
    near = x.astype(F16)  # to odd: the neighbour towards zero, unless exact or odd already
    cut = np.where(np.abs(near.astype(np.float64)) > np.abs(wide), np.nextafter(near, F16(0)), near)
    exact = cut.astype(np.float64) == wide
    want = np.where(exact | np.isinf(x), cut.view(np.uint16), cut.view(np.uint16) | 1)
    want = np.where(cut == 0, (np.signbit(x) * 0x8000) | ~exact, want)
    assert (odd.view(np.uint16) == np.where(np.isinf(x), x.astype(F16).view(np.uint16), want)).all()


@pytest.mark.parametrize("op", range(12))
def test_infix(op):
    x, y = (np.round(rng.standard_normal(128) * 4).astype(F32) / 2 for _ in range(2))
    y[y == 0] = 1
    on = device(x, y, np.zeros(128, F32), np.zeros(16, np.uint8))
    run("infix", *on, op)
    out, flags = on[2].cpu().numpy().view(F32), on[3].cpu().numpy().view(np.uint8)
    if op < 6:
        ix, iy = x.view(np.int32), y.view(np.int32)
        want = [x + y, x - y, x * y, x / y, (ix & iy).view(F32), (ix | iy).view(F32)][op]
        return same(out, want)
    assert (np.unpackbits(flags, bitorder="little").astype(bool) == COMPARES[op - 6](x, y)).all() and not out.any()


def test_raw_names():
    x = rng.uniform(-4, 4, 256).astype(F32)
    on = device(x, np.zeros(256, F32), np.zeros(8, F32))
    run("raw", *on)
    b = np.full((4, 64), F32(0.5))
    b[:, :48] = x.reshape(4, 64)[:, :48] * 2
    b[:2, :48] += x.reshape(4, 64)[:2, :48]
    masked = np.where(np.arange(64) < 48, b, F32(-0.0))
    total = F32(0)
    for row in masked:
        total = F32(total + tree(row))
    want = np.concatenate([[tree(r) for r in b], [total]]).astype(F32)
    got = on[1].cpu().numpy().view(F32)
    same(got[:5], want)
    copied = b.ravel()[:224].astype(F16).astype(F32)
    copied[:3] += 1
    same(got[16:240], copied)


REFUSED = {
    "Adds(f, f, 1, 64)": "Adds takes a scalar of the tensor's own type",
    "Not(i, i, 64)": "Not on Atlas A2 takes int16_t and uint16_t",
    "Add(u, u, u, 64)": "Add on Atlas A2 takes half, int16_t, int32_t and float",
    "Divs(f, f, 2.0f, 64)": "Divs does not exist on Atlas A2",
    "Neg(f, f, 64)": "Neg does not exist on Atlas A2",
    "MulCast(f, h, h, 64)": "MulCast on Atlas A2 goes from half to int8_t or uint8_t",
    "CastDequant<int8_t, half>(h.ReinterpretCast<int8_t>(), h, 64)": "CastDequant on Atlas A2 turns int16_t",
    "Select(i, u, i, i, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64)": "Select on Atlas A2 takes half and float",
    "CompareScalar(u, f, 1, CMPMODE::EQ, 64)": "the scalar has the source's own type",
    "Fixpipe(f, f, FixpipeParamsV220(16, 16, 16, 16, false))": "From L0C to L1 Atlas A2 takes float into",
    "ScalarCast<half, float, RoundMode::CAST_NONE>(half(1))": "Cast of a scalar goes from float",
    "Std::abs(half(1))": "Std::abs takes int8_t, int16_t, int32_t, int64_t and float",
    "Std::make_index_sequence<65>::size()": "Std::index_sequence holds at most 64 numbers",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused_in_one_line(call):
    text = f"""#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR) {{
    LocalTensor<float> f; LocalTensor<half> h; LocalTensor<int32_t> i; LocalTensor<uint32_t> u;
    {call};
}}
"""
    with pytest.raises(CompileError) as error:
        labkit.kernel(text=text, filename="refused.asc")
    assert REFUSED[call] in str(error.value).splitlines()[0], str(error.value)


def test_blocks_that_store_the_same_single_values_only_warn():
    """Shares that are rounded to whole cache lines overlap: what two blocks store to the same place is the same."""
    text = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void fill(GM_ADDR z, uint32_t n, float step) {
    AscendC::GlobalTensor<float> gz;
    gz.SetGlobalBuffer((__gm__ float*)z, n);
    for (uint32_t i = 0; i < n; i += 8) gz.SetValue(i, 7.5f + step * AscendC::GetBlockIdx());
    AscendC::DataCacheCleanAndInvalid<float, AscendC::CacheLine::ENTIRE_DATA_CACHE>(gz);
}
"""
    k, z = labkit.kernel(text=text), torch.zeros(64).npu()
    record = k[2](z, 64, 0.0)
    assert set(record.codes()) == {"gm-twice"} and record.ok and z.cpu()[::8].tolist() == [7.5] * 8
    assert set(k[2](z, 64, 1.0).codes()) == {"gm-overlap"}
