"""Broadcast, Pad, UnPad, Select by bytes, DropOut and filling of GM against numpy written from the public documents,
with the scratch that the host's functions ask for and with one byte less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rearrange_lab import DST, DT, MORE, SRC, TYPE, host, noise, place, values, whole  # noqa: F401
from twin_image import HERE, Shared, agree

import labkit

some = settings(max_examples=12, deadline=None)


def scratch(draw: int, most: int, least: int) -> dict:
    """None at all, the least, the most, or something between."""
    return dict(work_bytes=[0, least, most, (least + most) // 64 * 32][draw] if least else 0)


def too_small(whole, least, start, *args, **kw):
    if least >= 32:
        whole(
            start,
            *args,
            findings=["adv-tmp-small"],
            **(kw | dict(work_bytes=least - 32 if least % 32 == 0 else least // 32 * 32)),
        )


@pytest.mark.parametrize("t", ["half", "float", "int8", "int32"])
@pytest.mark.parametrize("form", ["row", "column", "one", "same", "line"])
@some
@given(rows=st.integers(1, 40), width=st.integers(1, 100), room=st.integers(0, 3), seed=st.integers(0, 999))
def test_broadcast(whole, host, t, form, rows, width, room, seed):  # noqa: F811
    rng, size = np.random.default_rng(seed), DT[t]().itemsize
    if form == "row":
        per = 32 // size
        width = -(-width // per) * per
    to = [rows, width]
    src = {"row": [1, width], "column": [rows, 1], "one": [1, 1], "same": to, "line": [1]}[form]
    if form == "line":
        to = [width]
    x, start = values(rng, int(np.prod(src)), t), noise(rng)
    place(start, SRC, x)
    want = start.copy()
    place(want, DST, np.broadcast_to(x.reshape(src), to))
    most, least = host.sizes("broadcast", to, src, len(to), size)
    pad = lambda s: s + [0] * (2 - len(s))  # noqa: E731
    kw = dict(a=pad(to)[0], b=pad(to)[1], c=pad(src)[0], d=pad(src)[1], mask={"line": 0, "column": 2}.get(form, 1))
    agree(whole(start, "Broadcast", t, **kw, **scratch(room, most, least)), want, DT[t])
    if seed % 8 == 0 and form == "column" and rows > 1 and width > 1:
        too_small(whole, least, start, "Broadcast", t, **kw)


def test_broadcast_says_what_does_not_fit(whole):  # noqa: F811
    start = noise(np.random.default_rng(0))
    whole(start, "Broadcast", "half", findings=["broadcast-shape"], mask=1, a=4, b=32, c=1, d=16)
    whole(start, "Broadcast", "half", findings=["adv-shape"], mask=1, a=4, b=20, c=1, d=20)
    whole(start, "Broadcast", "int8", findings=["adv-shape"], mask=1, a=4, b=48, c=1, d=48)


@pytest.mark.parametrize("t", ["half", "float", "int32"])
@some
@given(
    rows=st.integers(1, 300),
    width=st.integers(1, 60),
    left=st.integers(0, 15),
    room=st.integers(0, 3),
    seed=st.integers(0, 999),
)
def test_pad(whole, host, t, rows, width, left, room, seed):  # noqa: F811
    rng, size = np.random.default_rng(seed), DT[t]().itemsize
    per, rows = 32 // size, min(rows, 32768 // (size * (width + 16)))
    value, x, start = int(rng.integers(-99, 99)), values(rng, rows * width, t).reshape(rows, width), noise(rng)
    if width % per == 0:
        data = int(rng.integers(width - per, width))
        left, right = 0, min(int(rng.integers(1, width - data + 1)), per - 1)
        want = x.copy()
        want[:, data : data + right] = value
    else:
        data, gap = width, per - width % per
        left = min(left, gap)
        right = gap - left
        want = np.pad(x, [(0, 0), (left, right)], constant_values=value)
    place(start, SRC, x)
    image = start.copy()
    place(image, DST, want)
    most, least = host.sizes("pad", [rows, width], size)
    work = scratch(room, min(most, 32768), least)
    tiling = host.tiling("pad", [rows, width], [rows, data], work["work_bytes"] or 4096, size)
    kw = dict(tiling=tiling, a=left, b=right, c=value & 0xFFFFFFFF)
    agree(whole(start, "Pad", t, **kw, **work), image, DT[t])
    if width % per:
        too_small(whole, least, start, "Pad", t, **kw)


@pytest.mark.parametrize("t", ["half", "float", "int32"])
@some
@given(rows=st.integers(1, 100), blocks=st.integers(1, 8), right=st.integers(1, 15), seed=st.integers(0, 999))
def test_unpad(whole, host, t, rows, blocks, right, seed):  # noqa: F811
    rng, per = np.random.default_rng(seed), 32 // DT[t]().itemsize
    width, right = blocks * per, min(right, per - 1)
    x, start = values(rng, rows * width, t).reshape(rows, width), noise(rng)
    place(start, SRC, x)
    want = start.copy()
    place(want, DST, x[:, : width - right])
    agree(whole(start, "UnPad", t, tiling=host.tiling("unpad", [rows, width], DT[t]().itemsize), b=right), want, DT[t])


def test_rows_that_cannot_be_padded(whole, host):  # noqa: F811
    start = noise(np.random.default_rng(0))
    wrong = [(16, 16, 0, 1), (16, 14, 1, 1), (16, 14, 0, 3), (16, 14, 0, 0), (16, 0, 0, 16)]
    wrong += [(13, 13, 0, 2), (13, 13, 0, 19), (13, 13, 16, 3)]  # not up to a whole block, and past the next one
    for width, data, left, right in wrong:
        tiling = host.tiling("pad", [4, width], [4, data], 4096, 2)
        whole(start, "Pad", "half", tiling=tiling, findings=["pad-shape"], a=left, b=right)


def test_rows_that_cannot_be_cut(whole, host):  # noqa: F811
    start = noise(np.random.default_rng(0))
    for width, left, right in [(15, 0, 1), (64, 0, 0), (64, 0, 16), (64, 0, 20), (64, 1, 1)]:
        tiling = host.tiling("unpad", [4, width], 2)
        whole(start, "UnPad", "half", tiling=tiling, findings=["pad-shape"], a=left, b=right)


MASKS = [[np.bool_, np.uint8], [np.uint16, np.int16], [np.uint32, np.int32]]


@pytest.mark.parametrize("t", ["half", "float"])
@some
@given(
    rows=st.integers(1, 12),
    blocks=st.integers(1, 6),
    more=st.integers(0, 3),
    kind=st.integers(0, 2),
    reuse=st.booleans(),
    tensor_first=st.booleans(),
    largest=st.booleans(),
    seed=st.integers(0, 999),
)
def test_select_bytes(whole, host, t, rows, blocks, more, kind, reuse, tensor_first, largest, seed):  # noqa: F811
    rng, size, mask_t = np.random.default_rng(seed), DT[t]().itemsize, np.dtype(MASKS[kind][reuse])
    width = blocks * 32 // size
    step = -(-width * mask_t.itemsize // 32) * 32 // mask_t.itemsize + more * 32 // mask_t.itemsize if more else width
    x, scalar, start = values(rng, rows * width, t).reshape(rows, width), DT[t](1.5), noise(rng)
    mask = rng.integers(0, 2, (rows, step)).astype(mask_t)
    if mask_t.kind != "b":
        mask[rng.integers(0, 4, (rows, step)) == 0] = 1 << (8 * mask_t.itemsize - 2)
    if kind == 2:
        mask[rng.integers(0, 6, (rows, step)) == 0] = 1 << 31 if mask_t.kind == "u" else -(1 << 31)
    place(start, SRC, x)
    place(start, MORE, mask)
    want, chosen = start.copy(), mask[:, :width] != 0
    if kind == 2:
        chosen = (mask[:, :width].view(np.uint32) & 0x7FFFFFFF) != 0
    place(want, DST, np.where(chosen, scalar, x) if tensor_first else np.where(chosen, x, scalar))
    if reuse and step != width:
        place(want, MORE, mask[:, :width])
    most, least = host.sizes("select", [rows, width], [rows, step], size, mask_t.itemsize, reuse)
    kw = dict(mask=MORE, a=rows, b=width, c=step, d=kind * 4 + reuse * 2 + tensor_first, x=float(scalar))
    agree(whole(start, "Select", t, **kw, work_bytes=most if largest else least), want, DT[t])
    if not more:  # the function itself works from one piece of 32 elements on, behind 256 bytes of its own
        agree(whole(start, "Select", t, **kw, work_bytes=320), want, DT[t])
        too_small(whole, 320, start, "Select", t, **kw)


@pytest.mark.parametrize("t", ["half", "float"])
@pytest.mark.parametrize("mode", [0, 1, 2, 3, 4])
@some
@given(
    rows=st.integers(1, 12),
    width=st.integers(1, 4),
    more=st.integers(1, 3),
    room=st.integers(0, 3),
    by_bit=st.booleans(),
    seed=st.integers(0, 999),
)
def test_drop_out(whole, host, t, mode, rows, width, more, room, by_bit, seed):  # noqa: F811
    rng, size = np.random.default_rng(seed), DT[t]().itemsize
    if mode:
        by_bit = mode > 2
    packed = mode in (1, 4) or (mode == 0 and bool(seed % 2))
    if by_bit:
        width *= 32 * 8 if mode == 0 else 16
        rows = min(rows, (DST - SRC) // (width * size))
        step = (-(-width // 8 // 32) + more) * 32 if packed else width // 8
        mask = rng.integers(0, 256, (rows, step)).astype(np.uint8)
        chosen = np.unpackbits(mask, axis=1, bitorder="little")[:, :width]
        if mode == 0 and packed:  # to be told apart from bytes the mask's row must be shorter than the source's
            rows, width, step, packed = 1, width, width // 8, False
            mask, chosen = mask[:1, :step], chosen[:1]
        keep = mask[:, : width // 8]
    else:
        width *= 32
        step = width + more * 32 if packed else width
        mask = keep = rng.integers(0, 3, (rows, step)).astype(np.uint8)
        chosen = keep = mask[:, :width]
    x, start, probability = (
        values(rng, rows * width, t).reshape(rows, width),
        noise(rng),
        float(np.float32(rng.uniform(0.1, 1))),
    )
    place(start, SRC, x)
    place(start, MORE, mask)
    want = start.copy()
    factor = DT[t](np.float32(1) / np.float32(probability))
    place(want, DST, x * chosen.astype(DT[t]) * factor if not by_bit else np.where(chosen, x, DT[t](0)) * factor)
    if packed:
        place(want, MORE, keep)
    most, least = host.sizes("drop", [rows, width], size)
    agree(
        whole(
            start, "DropOut", t, mask=MORE, a=rows, b=width, c=step, d=mode, x=probability, **scratch(room, most, least)
        ),
        want,
        DT[t],
    )


@pytest.fixture(scope="module")
def fill():
    kernel, memory = labkit.kernel(HERE / "whole.asc", entry="fill_gm"), Shared(1 << 20)

    def run(t, kind, start, n, x):
        memory.bytes[:] = 0x5A
        record = kernel[1](memory.tensor, TYPE[t], kind, start, n, x)
        assert record.finished and not record.findings, record.report()
        return memory.bytes.copy()

    return run


@pytest.mark.parametrize("t", ["half", "float", "int32"])
@some
@given(
    kind=st.integers(0, 2),
    start=st.integers(0, 50),
    n=st.one_of(st.integers(0, 300), st.integers(0, 1 << 17)),
    x=st.integers(-9, 9),
)
def test_fill_memory(fill, t, kind, start, n, x):
    want = np.full(1 << 20, 0x5A, np.uint8)
    place(want, start * DT[t]().itemsize, np.full(n, x, DT[t]))
    agree(fill(t, kind, start, n, float(x)), want, DT[t])
