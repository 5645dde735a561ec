"""Reductions of a matrix and quantization against their formulas;
scratch of exactly what the host asks for, or none.
"""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from same import equal  # noqa: E402
from twin_adv import TORCH, agree, asked, kernel, launch, sizes

SLOT, IN = 24576, 3
some = settings(max_examples=20, deadline=None)
REDUCE = {
    "ReduceSum": (0, ["F32"]),
    "ReduceMean": (2, ["F32"]),
    "ReduceProd": (4, ["F32"]),
    "ReduceMax": (6, ["F16", "F32"]),
    "ReduceMin": (8, ["F16", "F32"]),
    "ReduceAny": (10, ["U8", "F32"]),
    "ReduceAll": (12, ["U8", "F32"]),
}
DTYPE = {**TORCH, "U8": torch.uint8}
CODE = {"F16": 0, "F32": 1, "U8": 2}
JOIN = {
    "ReduceSum": torch.sum,
    "ReduceMean": torch.mean,
    "ReduceProd": torch.prod,
    "ReduceMax": torch.amax,
    "ReduceMin": torch.amin,
    "ReduceAny": torch.amax,
    "ReduceAll": torch.amin,
}


class Tile:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.gin = torch.zeros(IN, SLOT, dtype=torch.uint8)

    def put(self, slot, x):
        raw = torch.as_tensor(x).contiguous().flatten().view(torch.uint8)
        self.gin[slot][: raw.numel()] = raw
        return x

    def normal(self, slot, shape, t, scale=1.0):
        return self.put(slot, torch.from_numpy(self.rng.normal(size=shape) * scale).to(DTYPE[t])).double()

    def run(self, which, code, tmp, **more):
        k = kernel("adv_reduce.asc", "adv_reduce")
        blank = dict.fromkeys(("first", "last", "inner", "reuse", "wide", "channels", "groups", "across", "active"), 0)
        c = k.struct(
            "Call", which=which, form=int(tmp is None), tmp=tmp or 0, **{**blank, "scale": 0.0, "offset": 0.0, **more}
        )
        gin, gout = self.gin.flatten().npu(), torch.full((SLOT,), 0x3C, dtype=torch.uint8).npu()
        seen = launch(k, gin, gout, c, SLOT, code)
        assert seen.finished and not seen.findings, seen.report()
        self.out, self.after = gout.cpu(), gin.cpu().view(IN, SLOT)
        return self

    def got(self, n, dtype):
        return self.out.view(dtype)[:n]


def tmp_of(name, question, spare, room=0.0):
    most, least = sizes(name, question)
    return None if spare else (least + int((most - least) * room)) // 32 * 32


@some
@given(
    st.sampled_from(list(REDUCE)),
    st.integers(0, 1),
    st.integers(1, 20),
    st.integers(1, 300),
    st.integers(0, 10**6),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_patterns(name, which_type, first, last, seed, columns, reuse, spare):
    number, types = REDUCE[name]
    t = types[which_type % len(types)]
    inner = -(-last // (32 // DTYPE[t].itemsize)) * (32 // DTYPE[t].itemsize)
    first = min(first, SLOT // inner // DTYPE[t].itemsize)
    tile = Tile(seed)
    if name in ("ReduceAny", "ReduceAll"):
        x = torch.from_numpy(
            (tile.rng.random((first, inner)) < (0.05 if name == "ReduceAny" else 0.95)).astype(np.float64)
        ).to(DTYPE[t])
        x = tile.put(0, x).double()
    else:
        x = tile.normal(0, (first, inner), t)
    if name == "ReduceProd":  # of numbers near one: within what float holds
        x = tile.put(0, 1 + 0.1 * x.float()).double()
    tmp = tmp_of(name, asked([first, last], [], DTYPE[t].itemsize, reuse, more=int(columns)), spare)
    tile.run(number + columns, CODE[t], tmp, first=first, last=last, reuse=int(reuse))
    want = JOIN[name](x[:, :last], 0 if columns else 1)
    got = tile.got(last if columns else first, DTYPE[t])
    if t == "U8":
        assert equal(got, want.to(torch.uint8))
    else:
        agree(got, want, units=0, floor=1e-12)


@some
@given(
    st.sampled_from(["Sum", "Mean", "wide"]),
    st.sampled_from(["F16", "F32"]),
    st.integers(1, 12),
    st.integers(1, 700),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_rows(name, t, outer, n, seed, spare):
    inner = -(-n // (32 // DTYPE[t].itemsize)) * (32 // DTYPE[t].itemsize)
    outer = min(outer, SLOT // inner // DTYPE[t].itemsize)
    tile, wide = Tile(seed), name == "wide"
    x = tile.normal(0, (outer, inner), t)[:, :n]
    host = "Sum" if name == "Sum" else "Mean"
    tmp = tmp_of(host, asked([n], [], DTYPE[t].itemsize, more=4 if wide or t == "F32" else 2), spare)
    tile.run(14 if name == "Sum" else 15, CODE[t], tmp, first=outer, last=n, inner=inner, wide=int(wide))
    agree(tile.got(outer, DTYPE[t]), x.sum(1) if name == "Sum" else x.mean(1), units=0, floor=1e-12)


def test_a_sum_that_half_cannot_hold():
    tile = Tile(0)
    tile.put(0, torch.full((1, 128), 1000.0, dtype=torch.float16))
    shape = dict(first=1, last=128, inner=128)
    assert torch.isinf(tile.run(15, 0, 64, **shape).got(1, torch.float16)).all()
    assert tile.run(15, 0, 1024, wide=1, **shape).got(1, torch.float16) == 1000


@some
@given(st.integers(1, 900), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_xor_sum(n, seed, spare, small):
    tile = Tile(seed)
    high = 40 if small else 2**15
    a, b = (tile.put(i, torch.from_numpy(tile.rng.integers(-high, high, n)).to(torch.int16)) for i in (0, 1))
    tile.run(19, 0, tmp_of("ReduceXorSum", asked([n], [], 2), spare), last=n)
    want = int((a.numpy().astype(np.int32) ^ b.numpy().astype(np.int32)).sum())
    assert tile.got(1, torch.int16) == max(-(2**15), min(2**15 - 1, want))


def halves(x):
    return torch.as_tensor(x).to(torch.float16)


def quantized(x, scale, offset):
    """In half, step by step; to the nearest even integer, within int8."""
    y = (halves(x).double() * halves(scale).double()).half()
    y = (y.double() + halves(offset).double()).half()
    return torch.round(y.double()).clamp(-128, 127).to(torch.int8)


@some
@given(
    st.sampled_from([20, 21, 22, 23, 24]),
    st.sampled_from(["F16", "F32"]),
    st.integers(1, 8),
    st.integers(1, 6),
    st.integers(0, 10**6),
    st.none() | st.floats(0, 1),
)
def test_quant(which, t, blocks, rows, seed, room):
    tile = Tile(seed)
    many = 32 if which == 24 else 32 * blocks
    n = 128 if which >= 23 else many * rows
    room = 0.0 if room is None and which >= 23 else room
    x = tile.normal(0, n, t, 20.0)
    channels = {"dtype": DTYPE[t]}
    scale = tile.put(1, torch.from_numpy(tile.rng.uniform(-4, 4, many)).to(**channels))
    offset = tile.put(2, torch.from_numpy(tile.rng.uniform(-9, 9, many)).to(**channels))
    tmp = tmp_of("AscendQuant", asked([n], [], DTYPE[t].itemsize), room is None, room or 0.0)
    tile.run(which, CODE[t], tmp, last=n, channels=many, scale=1.7, offset=0.3)
    if which in (20, 23):
        want = quantized(x, 1.7, 0.3)
    else:
        off = torch.full((many,), 0.3).to(**channels) if which == 21 else offset
        want = quantized(x, scale.repeat(n // many), off.repeat(n // many))
    assert equal(tile.got(n, torch.int8), want)
    if t == "F32" and which in (22, 24):  # as on the hardware, the scales have become halves in place
        assert equal(tile.after[1].view(torch.float16)[:many], halves(scale))


DEQUANT = [("F16", None), ("F32", "F32"), ("F32", "BF16"), ("BF16", "BF16"), ("BF16", "F32")]


@some
@given(
    st.sampled_from([30, 31, 32, 33, 34]),
    st.integers(0, 4),
    st.integers(1, 6),
    st.integers(1, 12),
    st.integers(1, 96),
    st.integers(0, 10**6),
    st.none() | st.floats(0, 1),
)
def test_dequant(which, code, m, blocks, active, seed, room):
    to, by = DEQUANT[code]
    n = 8 * blocks
    room = 0.0 if which == 31 and room is None else room
    active = m * n - 3 if which == 32 else min(active, n)
    if which in (32, 33):
        n, blocks = 16 * blocks, 2 * blocks
        active = m * n - 3
    if which == 34 and by is None:
        which = 30
    tile = Tile(seed)
    x = tile.put(0, torch.from_numpy(tile.rng.integers(-(2**26), 2**26, (m, n)).astype(np.int32)))
    scale = torch.from_numpy(tile.rng.uniform(-1e-3, 1e-3, n)).to(DTYPE[by or "F32"])
    tile.put(1, scale if by else torch.stack([scale.view(torch.int32), torch.arange(n, dtype=torch.int32)], 1))
    question = asked([m, n], [], 4)
    tmp = tmp_of("AscendDequant", question, room is None, room or 0.0)
    one = float(torch.tensor(0.0123).to(DTYPE[by or "F32"]))
    tile.run(which, code, tmp, first=m, last=n, active=active, scale=one)
    block = 32 // DTYPE[to].itemsize
    whole = which in (32, 33)
    rows, width, good = (m, n, n) if whole else (m, n, active)
    if which in (30, 34) and m == 1 and good % block == 0 and n % good == 0:
        rows, width = n // good, good
    factor = torch.full((n,), one) if which == 34 else scale.float()
    exact = x.view(rows, width).float() * factor[:width]
    across = -(-width // block) * block
    got = tile.got(rows * across, DTYPE[to]).view(rows, across)
    count = active if which == 32 else rows * width
    for r in range(rows):
        live = min(good, max(0, count - r * width))
        assert equal(got[r, :live], exact[r, :live].to(DTYPE[to])), r


@some
@given(
    st.sampled_from([40, 41, 42, 43]),
    st.integers(0, 3),
    st.booleans(),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 10**6),
    st.none() | st.floats(0, 1),
)
def test_antiquant(which, code, across, high, wide, groups, seed, room):
    across = across and which < 42
    room = 0.0 if which in (41, 43) and room is None else room
    rows, width = 4 * high * (1 if across else groups), 64 * wide * (groups if across else 1)
    t, nibbles = ("F16", "BF16")[code // 2], code % 2
    tile = Tile(seed)
    x = torch.from_numpy(
        tile.rng.integers(-8, 8, (rows, width)) if nibbles else tile.rng.integers(-128, 128, (rows, width))
    ).to(torch.int8)
    packed = (x.view(-1, 2)[:, 0] & 15) | (x.view(-1, 2)[:, 1] << 4) if nibbles else x
    tile.put(0, packed.to(torch.int8))
    shape = (rows, groups) if across else (groups, width)
    scale, offset = (tile.put(i, torch.from_numpy(tile.rng.uniform(-5, 5, shape)).to(DTYPE[t])) for i in (1, 2))
    question = asked([rows, width], [1] if which > 41 else list(shape), 2 if t == "F16" else 4, more=int(across))
    tmp = tmp_of("AscendAntiQuant", question, room is None, room or 0.0)
    tile.run(which, code, tmp, first=rows, last=width, groups=groups, across=int(across), scale=1.7, offset=-0.6)
    one = {"dtype": DTYPE[t]}
    s = (
        torch.tensor(1.7, **one)
        if which > 41
        else scale.repeat_interleave(width // groups, 1)
        if across
        else scale.repeat_interleave(rows // groups, 0)
    )
    o = (
        torch.tensor(-0.6, **one)
        if which > 41
        else offset.repeat_interleave(width // groups, 1)
        if across
        else offset.repeat_interleave(rows // groups, 0)
    )
    y = x.float() + (0 if which in (41, 43) else o.float())
    want = ((y.half().float() if t == "F16" else y) * s.float()).to(DTYPE[t])
    assert equal(tile.got(rows * width, DTYPE[t]).view(rows, width), want)
