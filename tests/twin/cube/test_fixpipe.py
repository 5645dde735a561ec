"""The ways out of L0C against numpy: layouts, quantisation, ReLU, registers, atomic sums."""

from __future__ import annotations

import cube_golden as golden
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from places import BROKEN, KERNELS
from same import equal  # noqa: E402

import labkit

HERE = KERNELS
MODES = "NoQuant F322F16 F322BF16 DEQF16 VDEQF16 QF322B8_PRE VQF322B8_PRE REQ8 VREQ8".split()
TO = {"half": 1, "bfloat16": 2, "int8": 3, "uint8": 4}
STORED = {"half": np.float16, "bfloat16": np.int16, "int8": np.int8, "uint8": np.uint8}
CASES = [
    ("float", "float", "NoQuant"),
    ("float", "half", "F322F16"),
    ("float", "bfloat16", "F322BF16"),
    ("float", "int8", "QF322B8_PRE"),
    ("float", "uint8", "QF322B8_PRE"),
    ("float", "int8", "VQF322B8_PRE"),
    ("int32", "int32", "NoQuant"),
    ("int32", "half", "DEQF16"),
    ("int32", "half", "VDEQF16"),
    ("int32", "int8", "REQ8"),
    ("int32", "uint8", "VREQ8"),
]


def parameter(rng, signed: bool) -> int:
    """A quantisation parameter: factor, shift, mode bit, offset, sign."""
    factor = int(np.float32(rng.choice([0.5, 0.01, 1.7, 3e-4, -0.3])).view(np.uint32))
    return (
        factor
        | int(rng.integers(0, 16)) << 32
        | int(rng.integers(0, 2)) << 36
        | int(rng.integers(0, 512)) << 37
        | int(signed) << 46
    )


def quantised(c: np.ndarray, to: str, mode: str, relu: bool, each: list[int]) -> np.ndarray:
    """What the fixed-function pipe makes of L0C; each: a parameter a column."""
    if not mode.lstrip("V").startswith(("DEQ", "QF", "REQ")):
        c = np.maximum(c, 0) if relu else c
        if to == "bfloat16":
            bits = c.astype(np.float32).view(np.uint32)
            return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).view(np.int16)
        return c.astype(STORED.get(to, c.dtype))
    out = np.zeros(c.shape, STORED[to])
    for j, q in enumerate(each):
        factor = np.uint32(q & 0xFFFFE000).view(np.float32)
        x = c[:, j]
        if c.dtype == np.int32 and q >> 36 & 1:
            x = np.clip(x >> ((q >> 32 & 15) + 1), -32768, 32767)
        x = x.astype(np.float32)
        x = np.where((x < 0) & relu, np.float32(0), x * factor)
        if to == "half":
            out[:, j] = x.astype(np.float16)
            continue
        offset = (q >> 37 & 511) - (512 if q >> 45 & 1 else 0)
        v = np.clip(np.rint(x), -256, 255).astype(np.int32) + offset
        out[:, j] = (np.clip(v, -128, 127) if q >> 46 & 1 else np.clip(v, 0, 255)).astype(np.uint8).view(STORED[to])
    return out


def laid(
    values: list[np.ndarray], way: int, split: bool, stride: int, nd_stride: int, total: int, start: np.ndarray
) -> np.ndarray:
    """The destination, flat; way 0: rows, nd_stride apart; else NZ, stride blocks of 32 bytes from column to column."""
    out = start.copy()
    if way == 0:
        for i, v in enumerate(values):
            for r, row in enumerate(v):
                out[i * nd_stride + r * stride :][: len(row)] = row
        return out
    v = values[0]
    wide = 8 if split else 32 if v.itemsize == 1 else 16
    for j in range(0, v.shape[1], wide):
        part = v[:, j : j + wide]
        out[j // wide * stride * 32 // v.itemsize :][: part.size] = part.ravel()
    return out


@pytest.fixture(scope="module")
def leave():
    import torch

    k = labkit.kernel(HERE / "cube_fix.asc")

    def leave(a, b, quantities, start, **p):
        out = torch.from_numpy(start.copy()).npu()
        wide = 8 if a[0].dtype == np.float32 else 32
        record = k[1](
            torch.from_numpy(np.concatenate([golden.zz(x, wide) for x in a])).npu(),
            torch.from_numpy(golden.zn(b, wide)).npu(),
            torch.from_numpy(quantities.view(np.int64)).npu(),
            out,
            k.struct("Out", **p),
        )
        assert record.finished and not record.findings, record.report()
        return out.cpu().numpy()

    return leave


@pytest.mark.parametrize("frm, to, mode", CASES)
def test_ways_out(leave, frm, to, mode):
    vector = mode.startswith("V")

    @settings(max_examples=20)
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        draw = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
        rng = np.random.default_rng(seed)
        way, copies, relu = draw(0, 2), draw(0, 2), draw(0, 1)
        assume(way != 2 or mode != "NoQuant")
        m, n, k = draw(2, 40), draw(1, 40), draw(1, 30)
        split = int(way == 1 and frm == to == "float" and draw(0, 1))
        if way:
            n = (n + 15) // 16 * 16 - 8 * split * draw(0, 1)
        assume(not split or copies < 2)
        nds = draw(1, 3) if way == 0 else 1
        if frm == "float":  # with the identity, so that L0C holds what the test chose
            k = n
            a = [rng.normal(0, 300, (m, k)).astype(np.float32) for _ in range(nds)]
            b = np.eye(k, n, dtype=np.float32)
        else:
            a = [rng.integers(-128, 128, (m, k)).astype(np.int8) for _ in range(nds)]
            b = rng.integers(-128, 128, (k, n)).astype(np.int8)
        c = [(x.astype(np.int32) @ b.astype(np.int32)) if frm == "int32" else x for x in a]
        each = np.array([parameter(rng, to == "int8") for _ in range(256)], np.uint64)
        scalar = int(each[200])
        dtype = np.dtype(STORED.get(to, np.int32 if to == "int32" else np.float32))
        want = [quantised(x, to, mode, bool(relu), [int(q) for q in each[:n]] if vector else [scalar] * n) for x in c]
        wide = 8 if split else 32 if dtype.itemsize == 1 else 16
        stride = n + draw(0, 9) if way == 0 else m * wide * dtype.itemsize // 32 + draw(0, 3)
        if way and dtype.itemsize == 1:
            stride = m + draw(0, 3)
        nd_stride = m * stride + draw(0, 5)
        total = nds * nd_stride + 16 if way == 0 else stride * 32 // dtype.itemsize * (-(-n // wide)) + 16
        if way == 2:  # nothing defines the gaps of L1: leave none
            stride = m * wide * dtype.itemsize // 32
            assume(n % wide == 0)
            total = stride * 32 // dtype.itemsize * (n // wide)
            assume(total * dtype.itemsize % 32 == 0)
        start = rng.integers(0, 100, total).astype(dtype)
        got = leave(
            a,
            b,
            each,
            start,
            m=m,
            n=n,
            k=k,
            nds=nds,
            **{"from": int(frm == "int32")},
            to=TO.get(to, 0),
            way=way,
            copies=copies,
            quant=MODES.index(mode),
            relu=relu,
            split=split,
            vector=int(vector),
            atomic=0,
            stride=stride,
            ndStride=nd_stride,
            total=total,
            scalar=scalar,
        )
        assert equal(got, laid(want, way, bool(split), stride, nd_stride, total, start))

    check()


def test_atomic_sum(leave):
    a, b = [np.full((20, 16), 3, np.float32)], np.eye(16, dtype=np.float32)
    start = np.arange(20 * 16, dtype=np.float32)
    form = dict(
        m=20,
        n=16,
        k=16,
        nds=1,
        to=0,
        way=0,
        copies=0,
        quant=0,
        relu=0,
        split=0,
        vector=0,
        atomic=1,
        stride=16,
        ndStride=0,
        total=320,
        scalar=0,
    )
    got = leave(a, b, np.zeros(256, np.uint64), start, **form, **{"from": 0})
    assert equal(got, start + 3)


@pytest.mark.parametrize("number", range(10))
def test_a_mode_that_does_not_lead_from_float_to_float_is_named(number):
    """Also the last one of this chip; what comes behind it belongs to another."""
    import torch

    way = f"FixpipeParamsV220 w(32, 32, 32, 32, false); w.quantPre = QuantMode_t({number}); Fixpipe(result, co, w);"
    text = (BROKEN / "fixpipe_quant.asc").read_text()
    for old, new in (
        ("GlobalTensor<half> result", "GlobalTensor<float> result"),
        ("__gm__ half*)c", "__gm__ float*)c"),
        ("Fixpipe(result, co, FixpipeParamsV220(32, 32, 32, 32, false));", way),
    ):
        assert old in text
        text = text.replace(old, new)
    a, b = (torch.ones(1024, dtype=torch.half, device="npu") for _ in "ab")
    record = labkit.kernel(text=text, filename="quant.asc")[1](a, b, torch.empty(1024, device="npu"))
    said = [f.numbers["mode"] for f in record.findings if f.code == "fixpipe-quant"]
    assert said == ([] if number == 0 else [MODES[number]] if number < len(MODES) else ["of Ascend 950"])
