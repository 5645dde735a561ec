"""Every form of every instruction of the headers, against what the public documents say it does
(tests/support/twin_golden.py).

One kernel, compiled once: an image of UB goes in, one instruction runs, the image comes out and is compared byte by
byte, so that a lane written which should not be is seen as well. Exp and Ln may miss by one unit in the last place.
"""

from __future__ import annotations

import numpy as np
import pytest
import twin_golden as golden
from hypothesis import given, settings
from hypothesis import strategies as st
from same import equal  # noqa: E402
from test_cast import cast_golden
from twin_golden import NP, TYPES
from twin_image import BYTES, HERE, REGION, agree, bits, blocks, fill, lab  # noqa: F401  (lab is a fixture)

import labkit

FLOATS, NUMBERS = ["F16", "F32"], ["F16", "F32", "I16", "I32"]
WORDS = ["I16", "U16", "I32", "U32"]
SETS = [  # names in the order of tests/twin/kernels/forms.asc, and their types
    (0, "Abs Exp Ln Sqrt Rsqrt Reciprocal Div MulAddDst FusedMulAdd LeakyRelu Axpy", FLOATS),
    (100, "Add Sub Mul Max Min Adds Muls Maxs Mins", NUMBERS),
    (200, "Not And Or", ["I16", "U16"]),
    (300, "ShiftLeft ShiftRight", WORDS),
    (400, "AddRelu SubRelu", ["F16", "F32", "I16"]),
    (500, "Relu", ["F16", "F32", "I32"]),
    (600, "Duplicate Copy", ["F16", "BF16", "F32", *WORDS]),
]
NUMBER = {name: first + i for first, names, _ in SETS for i, name in enumerate(names.split())}
NUMBER |= {
    "Compare": 700,
    "CompareScalar": 701,
    "SelectMask": 800,
    "SelectScalar": 801,
    "SelectTensor": 802,
    "ReduceSum": 810,
    "ReduceMax": 811,
    "ReduceMin": 812,
    "WholeReduceSum": 820,
    "WholeReduceMax": 821,
    "WholeReduceMin": 822,
    "BlockReduceSum": 830,
    "BlockReduceMax": 831,
    "BlockReduceMin": 832,
    "PairReduceSum": 840,
    "Cast": 900,
    "Scalar": 1000,
}
PAIRS = [
    ("I8", "F16"),
    ("U8", "F16"),
    ("I16", "F16"),
    ("I16", "F32"),
    ("F16", "I8"),
    ("F16", "U8"),
    ("F16", "I16"),
    ("F16", "I32"),
    ("F16", "F32"),
    ("BF16", "I32"),
    ("BF16", "F32"),
    ("I32", "I16"),
    ("I32", "F32"),
    ("I32", "I64"),
    ("F32", "I16"),
    ("F32", "F16"),
    ("F32", "BF16"),
    ("F32", "I32"),
    ("F32", "F32"),
    ("F32", "I64"),
    ("I64", "I32"),
    ("I64", "F32"),
]
MODES = "None Rint Floor Ceil Round Trunc Odd".split()
few, some, many = settings(max_examples=10), settings(max_examples=25), settings(max_examples=60)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@st.composite
def repeats(draw, lanes: int):
    """A mask/repeat form that stays within its regions, and its mask within the lanes of a repeat."""
    kind = draw(st.sampled_from([1, 2]))
    f = dict(
        kind=kind,
        times=draw(st.integers(1, 5)),
        dst=draw(blocks),
        src0=REGION + draw(blocks),
        src1=2 * REGION + draw(blocks),
        dstBlk=draw(st.integers(1, 3)),
        src0Blk=draw(st.integers(0, 3)),
        src1Blk=draw(st.integers(0, 3)),
        dstRep=draw(st.integers(0, 10)),
        src0Rep=draw(st.integers(0, 10)),
        src1Rep=draw(st.integers(0, 10)),
        low=0,
        high=0,
    )
    if kind == 1:
        f["low"] = draw(st.integers(0, lanes) | st.just(lanes) | st.just(lanes // 2))
    else:
        f["low"], f["high"] = draw(st.integers(0, 2**64 - 1)), draw(st.integers(0, 2**64 - 1))
    return f


def counted(draw, most: int) -> dict:
    return dict(
        kind=0,
        count=draw(st.integers(0, most) | st.sampled_from([1, 8, 64, 128, most])),
        dst=draw(blocks),
        src0=REGION + draw(blocks),
        src1=2 * REGION + draw(blocks),
    )


def most_of(dtype) -> int:
    return (REGION - 41 * 32) // np.dtype(dtype).itemsize


def lanes_of(dtype) -> int:
    return 256 // np.dtype(dtype).itemsize


# ---- element-wise: counts, lanes, bits


@pytest.mark.parametrize("name, t", [(n, t) for _, names, types in SETS for n in names.split() for t in types])
def test_elementwise(lab, name, t):
    dtype = NP[t]

    @some
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        counts = data.draw(st.booleans()) and name != "Copy"
        form = counted(data.draw, most_of(dtype)) if counts else data.draw(repeats(lanes_of(dtype)))
        same_place = data.draw(st.integers(0, 3))
        if same_place == 0:  # in place
            form["src0"] = form["dst"]
            if not counts:
                form |= dict(dstBlk=1, src0Blk=1, dstRep=8, src0Rep=8)
        elif same_place == 1 and counts:
            form["src1"] = form["dst"]
        if name.startswith("Shift"):
            value = dtype(data.draw(st.integers(0, np.dtype(dtype).itemsize * 8 - 1)))
        elif np.dtype(dtype).kind == "f":
            value = dtype(data.draw(st.integers(-40, 40)) / 8)
        else:
            value = dtype(data.draw(st.integers(int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))))
        form["value"] = bits(value)
        start = fill(seed, t)
        want = start.copy()
        golden.elementwise(want, name, dtype, form)
        got = lab.form(start, op=NUMBER[name], type=TYPES.index(t), **form)
        agree(got, want, dtype, 1 if name in golden.APPROXIMATE else 0)

    check()


@pytest.mark.parametrize("t", ["F16", "F32", "I32"])
@pytest.mark.parametrize("name", ["Add", "Sub", "Mul", "Max", "Min"])
def test_running_accumulation(lab, name, t):
    """Documented exception of the overlap rule: dst is src1 and both stay where they are."""
    form = dict(
        kind=1,
        times=9,
        low=64,
        high=0,
        dst=0,
        src0=REGION,
        src1=0,
        dstBlk=1,
        src0Blk=1,
        src1Blk=1,
        dstRep=0,
        src0Rep=8,
        src1Rep=0,
        value=0,
    )
    start = fill(7, t, low=-1, high=1)
    want = start.copy()
    golden.elementwise(want, name, NP[t], form)
    agree(lab.form(start, op=NUMBER[name], type=TYPES.index(t), **form), want, NP[t])


def test_255_repeats(lab):
    """The most that one instruction can do: strides that come back over the same sources."""
    form = dict(
        kind=1,
        times=255,
        low=16,
        high=0,
        dst=0,
        src0=REGION,
        src1=2 * REGION,
        dstBlk=1,
        src0Blk=1,
        src1Blk=1,
        dstRep=1,
        src0Rep=0,
        src1Rep=1,
        value=0,
    )
    start = np.concatenate([fill(3, "F16"), fill(4, "F16")])[:BYTES]
    form |= dict(src0=0, dst=2 * REGION, src1=0)
    want = start.copy()
    golden.elementwise(want, "Add", np.float16, form)
    agree(lab.form(start, op=NUMBER["Add"], type=TYPES.index("F16"), **form), want, np.float16)


# ---- Cast


def modes_of(frm: str, to: str) -> list[str]:
    """The rounding modes that have an instruction behind them."""
    if frm in ("I8", "U8") or (frm, to) in (
        ("F16", "F32"),
        ("BF16", "F32"),
        ("I16", "F32"),
        ("I32", "I16"),
        ("I32", "I64"),
        ("I64", "I32"),
    ):
        return ["None"]
    plain = (frm, to) in (("F16", "I8"), ("F16", "U8"), ("I16", "F16"), ("I32", "F32"), ("F32", "F16"))
    return [
        *(["None"] if plain else []),
        "Rint",
        "Floor",
        "Ceil",
        "Round",
        "Trunc",
        *(["Odd"] if (frm, to) == ("F32", "F16") else []),
    ]


@pytest.mark.parametrize("frm, to", PAIRS)
def test_cast(lab, frm, to):
    wide = max(np.dtype(NP[frm]).itemsize, np.dtype(NP[to]).itemsize)

    @many
    @given(st.data(), st.integers(0, 99), st.sampled_from(modes_of(frm, to)))
    def check(data, seed, mode):
        form = (
            counted(data.draw, (REGION - 41 * 32) // wide)
            if data.draw(st.booleans())
            else data.draw(repeats(256 // wide))
        )
        start = fill(seed, to, frm, low=-300, high=300)
        start[2 * REGION :] = start[: 2 * REGION]
        want = start.copy()
        golden.cast(want, to, frm, form, lambda x: cast_golden(to, frm, mode, x))
        got = lab.form(start, op=900, type=TYPES.index(frm), to=TYPES.index(to), mode=MODES.index(mode), **form)
        agree(got[:REGION], want[:REGION], np.uint16 if to == "BF16" else NP[to])
        assert equal(got[REGION:], want[REGION:])

    check()


@pytest.mark.parametrize("frm, to", PAIRS)
def test_cast_without_an_instruction(lab, frm, to):
    """A mode that the device has not: an error, and the destination stays as it was."""
    k = labkit.kernel(HERE / "forms.asc")
    start = fill(1, to, frm)
    for mode in sorted(set(MODES) - set(modes_of(frm, to))) + ["Hybrid"]:
        form = dict(
            op=900,
            type=TYPES.index(frm),
            to=TYPES.index(to),
            mode=(MODES + ["Hybrid"]).index(mode),
            kind=0,
            count=64,
            dst=0,
            src0=REGION,
            bytes=BYTES,
        )
        import torch

        x = torch.from_numpy(start).npu()
        z = torch.zeros_like(x)
        record = k[1](x, z, k.struct("Form", **form))
        if mode == "None":  # the documents promise CAST_RINT: so it is, with a warning
            assert record.codes() == ["cast-none"] and record.ok
            want = start.copy()
            golden.cast(want, to, frm, form, lambda x: cast_golden(to, frm, "Rint", x))
            agree(z.cpu().numpy(), want, np.uint16 if to == "BF16" else NP[to])
            continue
        assert record.codes() == ["cast-mode"] and f"CAST_{mode.upper()}" in str(record.findings[0])
        assert equal(z, x)


# ---- Compare, Select


@pytest.mark.parametrize("name", ["Compare", "CompareScalar"])
@pytest.mark.parametrize("t", ["F16", "F32", "I32"])
def test_compare(lab, name, t):
    lanes = 256 // np.dtype(NP[t]).itemsize

    @some
    @given(
        st.integers(0, 10), blocks, blocks, st.integers(0, 99), st.sampled_from([2] if t == "I32" else list(range(6)))
    )
    def check(repeat, dst, src, seed, mode):
        start = fill(seed, "U8", t, t)
        start[2 * REGION : 2 * REGION + 512] = start[REGION + src : REGION + src + 512]  # some are equal
        value = bits(start[REGION + src + 64 : REGION + src + 68].view(NP[t])[0])
        form = dict(kind=0, count=repeat * lanes, dst=dst, src0=REGION + src, src1=2 * REGION, mode=mode, value=value)
        want = start.copy()
        golden.compare(want, name, NP[t], form)
        assert equal(lab.form(start, op=NUMBER[name], type=TYPES.index(t), **form), want)

    check()


@pytest.mark.parametrize("name", ["SelectMask", "SelectScalar", "SelectTensor"])
@pytest.mark.parametrize("t", FLOATS)
def test_select(lab, name, t):
    @some
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        start = fill(seed, t)
        start[2 * REGION : 3 * REGION] = np.random.default_rng(seed).integers(0, 256, REGION)
        form = counted(data.draw, most_of(NP[t]))
        form["value"] = bits(NP[t](2.5)) if name == "SelectScalar" else 3 * REGION
        if data.draw(st.booleans()):
            form["src0"] = form["dst"]
        want = start.copy()
        golden.select(want, name, NP[t], form)
        assert equal(lab.form(start, op=NUMBER[name], type=TYPES.index(t), **form), want)

    check()


# ---- reductions


@pytest.mark.parametrize("name", ["ReduceSum", "ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("t", FLOATS)
def test_reduce(lab, name, t):
    @many
    @given(st.integers(1, most_of(NP[t])), blocks, st.integers(0, 9), st.integers(0, 99), st.booleans(), st.booleans())
    def check(count, src, dst, seed, index, ties):
        index = index and name != "ReduceSum"
        start = fill(seed, t)
        if ties:
            start[REGION : 2 * REGION] = np.round(start[REGION : 2 * REGION].view(NP[t]) / 3).view(np.uint8)
        align = np.dtype(NP[t]).itemsize * (2 if index else 1)  # a result stands on its own size, not on 32 bytes
        form = dict(kind=0, count=count, dst=dst * align, src0=REGION + src, src1=2 * REGION, mode=int(index))
        want = start.copy()
        golden.reduce(want, name, NP[t], form)
        got = lab.form(start, op=NUMBER[name], type=TYPES.index(t), **form)
        if name != "ReduceSum":  # the work space is written, with unspecified values
            repeats = max(1, count * np.dtype(NP[t]).itemsize // 256)
            work = slice(2 * REGION, 2 * REGION + repeats * 2 * np.dtype(NP[t]).itemsize + 128)
            want[work] = got[work]
        agree(got, want, NP[t])

    check()


@pytest.mark.parametrize(
    "name",
    [
        "WholeReduceSum",
        "WholeReduceMax",
        "WholeReduceMin",
        "BlockReduceSum",
        "BlockReduceMax",
        "BlockReduceMin",
        "PairReduceSum",
    ],
)
@pytest.mark.parametrize("t", FLOATS)
def test_reduce_repeats(lab, name, t):
    @many
    @given(repeats(lanes_of(NP[t])), st.integers(0, 3), st.integers(0, 99), st.booleans())
    def check(form, mode, seed, plain):
        if plain:
            form |= dict(kind=1, low=lanes_of(NP[t]), dstRep=1, src0Blk=1, src0Rep=8)
        form |= dict(mode=mode, dst=form["dst"] % 512)
        start = fill(seed, t)
        want = start.copy()
        golden.reduce_repeats(want, name, NP[t], form)
        agree(lab.form(start, op=NUMBER[name], type=TYPES.index(t), **form), want, NP[t])

    check()


# ---- scalar access


@pytest.mark.parametrize("t", TYPES)
def test_get_and_set_value(lab, t):
    @few
    @given(
        st.integers(0, 40),
        st.integers(0, 500),
        st.integers(0, 500),
        st.integers(0, 3),
        st.integers(0, 3),
        st.integers(0, 2**64 - 1),
    )
    def check(count, dst, src, dst_step, src_step, value):
        size = np.dtype(NP[t]).itemsize
        start = fill(5, "U8")
        form = dict(
            count=count,
            dst=dst * size // 32 * 32,
            src0=src * size // 32 * 32,
            dstBlk=dst_step,
            src0Blk=src_step,
            value=value,
        )
        want = start.copy()
        golden.scalars(want, NP[t], form)
        assert equal(lab.form(start, op=1000, type=TYPES.index(t), **form), want)

    check()
