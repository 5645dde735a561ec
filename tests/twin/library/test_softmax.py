"""SoftMax and its relatives against the formulas of their documents in float64:
every form, padding, fractal format, updates.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from twin_adv import TORCH, agree, asked, kernel, launch, sizes, tiling

SLOT, SLOTS = 6144, 6
some = settings(max_examples=20, deadline=None)
# number in tests/twin/kernels/adv_softmax.asc -> whose tiling; whether it updates, or is the front of a gradient
TILINGS = {
    0: ("SoftMax", 0),
    1: ("SoftMax", 0),
    2: ("SoftmaxFlash", 0),
    3: ("SoftmaxFlash", 1),
    4: ("SoftmaxFlashV2", 0),
    5: ("SoftmaxFlashV2", 1),
    10: ("SoftMax", 0),
    11: ("LogSoftMax", 0),
    12: ("SoftmaxGrad", 0),
    13: ("SoftmaxGrad", 1),
    14: ("SoftmaxGrad", 1),
    15: ("SoftmaxFlashV2", 1),
    16: ("SoftMax", 0),
    17: ("SoftMax", 0),
    20: ("SoftmaxFlashV3", 0),
    21: ("SoftmaxFlashV3", 1),
}
TYPES = {"half": (0, "F16", "F16"), "float": (1, "F32", "F32"), "mixed": (2, "F16", "F32")}


class Tile:
    """One call: matrices of m x k, of which om x ok count; statistics fill blocks of 32 bytes."""

    def __init__(self, draw, types, m, pad, ok, seed, nz):
        self.code, self.t, self.s = TYPES[types]
        self.nz = nz
        unit = 16 if nz else 32 // TORCH[self.t].itemsize
        self.m, self.ok, self.k = m, ok, (ok + unit - 1) // unit * unit + pad * unit
        self.rng = np.random.default_rng(seed)
        self.inputs = [torch.zeros(SLOT, dtype=torch.uint8) for _ in range(SLOTS)]
        self.values = {}

    def matrix(self, slot: int, scale: float = 4.0) -> torch.Tensor:
        x = torch.from_numpy(self.rng.normal(size=(self.m, self.k)) * scale).to(TORCH[self.t])
        flat = self.to_fractal(x) if self.nz else x.flatten()
        raw = flat.contiguous().view(torch.uint8)
        self.inputs[slot][: raw.numel()] = raw
        return x[:, : self.ok].double()

    def to_fractal(self, x):
        return x.view(self.m, self.k // 16, 16).permute(1, 0, 2).flatten()

    def stat(self, slot: int, low: float, high: float, narrow: bool = False) -> torch.Tensor:
        v = torch.from_numpy(self.rng.uniform(low, high, self.m)).to(TORCH[self.s])
        blocks = v if narrow else v.repeat_interleave(32 // v.element_size())
        raw = blocks.contiguous().view(torch.uint8)
        self.inputs[slot][: raw.numel()] = raw
        return v.double()[:, None]

    def run(self, which: int, form: int = 0, tiled: bool = True, **more):
        k = kernel("adv_softmax.asc", "adv_softmax")
        name, flag = TILINGS[which]
        question = asked([self.m, self.k], [], TORCH[self.t].itemsize, bool(flag), TORCH[self.s].itemsize)
        most, least = sizes(name, question)
        question.room = (least + int((most - least) * self.rng.uniform())) // 32 * 32 + 32
        t = tiling(name, question) if tiled else np.zeros(128, np.uint8)
        c = k.struct(
            "Call",
            which=which,
            form=form,
            m=self.m,
            k=self.k,
            om=self.m,
            ok=self.ok,
            tmp=0 if form else question.room,
            **{"loops": 1, "from": 0, "alpha": 0.0, **more},
        )
        gin = torch.cat(self.inputs).npu()
        gout = torch.full((SLOT * SLOTS,), 0x3C, dtype=torch.uint8).npu()
        self.flag = torch.zeros(32, dtype=torch.uint8).npu()
        seen = launch(k, gin, gout, self.flag, torch.from_numpy(t).npu(), c, SLOT, self.code, int(self.nz))
        assert seen.finished and not seen.findings, seen.report()
        self.out = gout.cpu().view(SLOTS, SLOT)
        return self

    def result(self) -> torch.Tensor:
        x = self.out[0].view(TORCH[self.t])[: self.m * self.k]
        x = (
            x.view(self.k // 16, self.m, 16).permute(1, 0, 2).reshape(self.m, self.k)
            if self.nz
            else x.view(self.m, self.k)
        )
        return x[:, : self.ok]

    def stats(self, slot: int, t: str, narrow: bool = False) -> torch.Tensor:
        dtype = TORCH[t]
        per = 1 if narrow else 32 // dtype.itemsize
        v = self.out[slot].view(dtype)[: self.m * per].view(self.m, per)
        assert (v == v[:, :1]).all()
        return v[:, :1]


@st.composite
def tiles(draw, types=("half", "float", "mixed"), fractal=True):
    nz = fractal and draw(st.booleans())
    return Tile(
        draw,
        draw(st.sampled_from(types)),
        draw(st.integers(1, 9)),
        draw(st.integers(0, 1)),
        draw(st.integers(1, 120)),
        draw(st.integers(0, 10**6)),
        nz,
    )


def softmax(x):
    top = x.amax(1, keepdim=True)
    e = torch.exp(x - top)
    return e, e.sum(1, keepdim=True), top


@some
@given(tiles(), st.booleans(), st.booleans())
def test_softmax(tile, form, tiled):
    x = tile.matrix(0)
    tile.run(0, int(form), tiled)
    e, total, top = softmax(x)
    agree(tile.result(), e / total)
    agree(tile.stats(1, tile.s), total)
    agree(tile.stats(2, tile.s), top)


@some
@given(tiles(("half", "float"), fractal=False), st.sampled_from(["tmp", "spare", "told"]))
def test_softmax_alone(tile, form):
    """With a temporary tensor, without, and of the shape that was set on the tensor itself."""
    e, total, _ = softmax(tile.matrix(0))
    agree(tile.run(17 if form == "told" else 10, int(form == "spare")).result(), e / total)


@some
@given(tiles(("half", "float")))
def test_log_softmax_is_to_base_ten(tile):
    e, total, top = softmax(tile.matrix(0))
    tile.run(11)
    agree(tile.result(), torch.log10(e / total), floor=1e-12)
    agree(tile.stats(1, tile.s), total)
    agree(tile.stats(2, tile.s), top)


@some
@given(tiles(), st.booleans())
def test_simple_softmax(tile, form):
    x, total, top = tile.matrix(0), tile.stat(2, 1, 9), tile.stat(3, 4, 9)
    agree(tile.run(1, int(form)).result(), torch.exp(x - top) / total)


def updated(x, total_before, top_before):
    """softmax() of rows of which some columns came before, and what those are to be scaled by."""
    top = torch.maximum(softmax(x)[2], top_before)
    e, back = torch.exp(x - top), torch.exp(top_before - top)
    return e, back * total_before + e.sum(1, keepdim=True), top, back


@some
@given(tiles(fractal=False), st.booleans(), st.booleans())
def test_flash(tile, update, form):
    x, total_before, top_before = tile.matrix(0), tile.stat(2, 1, 9), tile.stat(3, -4, 9)
    tile.run(3 if update else 2, int(form))
    e, total, top, back = updated(x, total_before, top_before) if update else (*softmax(x), None)
    if update:
        agree(tile.stats(3, tile.t), back * total_before / total)
    agree(tile.result(), e / total)
    agree(tile.stats(1, tile.s), total)
    agree(tile.stats(2, tile.s), top)


@some
@given(tiles(), st.booleans(), st.booleans())
def test_flash_v2(tile, update, form):
    x, total_before, top_before = tile.matrix(0), tile.stat(2, 1, 9), tile.stat(3, -4, 9)
    tile.run(5 if update else 4, int(form))
    e, total, top, back = updated(x, total_before, top_before) if update else (*softmax(x), None)
    if update:
        agree(tile.stats(3, tile.t), back)
    agree(tile.result(), e)
    agree(tile.stats(1, tile.s), total)
    agree(tile.stats(2, tile.s), top)


@pytest.mark.parametrize("types", list(TYPES))
@pytest.mark.parametrize("nz", [False, True])
def test_flash_v2_with_the_least_that_the_host_asks_for(types, nz):
    """Of floats in fractals the twin wanted more than the host had said to be enough."""
    for m, ok in ((2, 60), (9, 120)):
        tile = Tile(None, types, m, 1, ok, 0, nz)
        x = tile.matrix(0)
        tile.rng = SimpleNamespace(uniform=lambda: 0.0)
        tile.run(4)
        agree(tile.result(), softmax(x)[0])


@some
@given(tiles(("half", "float"), fractal=False))
def test_flash_v2_one_number_a_row(tile):
    x, total_before, top_before = tile.matrix(0), tile.stat(2, 1, 9, True), tile.stat(3, -4, 9, True)
    tile.run(15)
    own = x.amax(1, keepdim=True)
    top = torch.maximum(own, top_before)
    e, back = torch.exp(x - top), torch.exp(top_before - top)
    agree(tile.result(), e)
    agree(tile.stats(1, tile.s, True), back * total_before + e.sum(1, keepdim=True))
    agree(tile.stats(2, tile.s, True), top)
    agree(tile.stats(3, tile.s, True), back)
    agree(tile.stats(4, tile.s, True), own)


@some
@given(tiles(("half", "float")), st.sampled_from([12, 13, 14]), st.booleans())
def test_gradient(tile, which, form):
    y, dy = tile.matrix(0, 0.5), tile.matrix(1, 0.5)
    dot = (y * dy).sum(1, keepdim=True)
    tile.run(which, int(form))
    if which == 12:
        agree(tile.result(), (dy - dot) * y, floor=1e-14)
    else:
        agree(tile.stats(0, tile.t), dot, floor=1e-14)


@some
@given(tiles(("half", "float")), st.integers(0, 3))
def test_adjust(tile, seed):
    x = tile.matrix(0)
    tile.stat(3, 0, 1)
    rows = np.random.default_rng(seed).random(tile.m) < 0.4
    block = 32 // TORCH[tile.t].itemsize
    tops = tile.inputs[3].view(TORCH[tile.t])[: tile.m * block].view(tile.m, block)
    tops[torch.from_numpy(rows)] = -2.0
    tile.run(16, **{"from": {2: 0xC000, 4: 0xC0000000}[TORCH[tile.t].itemsize]})
    want = torch.where(torch.from_numpy(rows)[:, None], torch.tensor(7.0, dtype=torch.float64), x)
    agree(tile.result(), want, units=0)
    assert bool(tile.flag.cpu()[0]) == rows.any()


def documented_v3(x, k, alpha, loops, before=None):
    """The documents' code for one matrix: lanes of 64, of which eight at a time make a chunk's mean."""
    lanes = torch.stack([x[:, :512].view(len(x), 64, 8).sum(2)] + [x[:, i : i + 64] for i in range(512, k, 64)]).sum(0)
    local = lanes.view(len(x), 8, 8).sum(2) / (k // 8)
    mean, share = local.mean(1, keepdim=True), alpha / (1 - alpha)
    x = x - ((mean - local) * share).repeat_interleave(k // 8, 1)
    top = x.amax(1, keepdim=True)
    if before is None:
        e = torch.exp(x - top)
        return e, e.sum(1, keepdim=True), top, mean, None
    total_before, top_before, mean_before = before
    now = (mean + mean_before * (loops - 1)) / loops
    shift, shift_before = (mean - now) * share, (mean_before - now) * share
    m = torch.maximum(shift + top, shift_before + top_before)
    e, back = torch.exp(x - (m - shift)), torch.exp(top_before - m + shift_before)
    return e, back * total_before + e.sum(1, keepdim=True), m, now, back


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 3), st.sampled_from([512, 576, 1024]), st.integers(0, 10**6), st.booleans(), st.integers(1, 5))
def test_flash_v3(m, k, seed, update, loops):
    tile = Tile(None, "mixed", m, 0, k, seed, False)
    x = tile.matrix(0, 0.5)
    total, top, mean = tile.stat(2, 1, 9), tile.stat(3, -4, 9), tile.stat(4, -0.1, 0.1)
    alpha = 0.9375
    tile.run(21 if update else 20, loops=loops, alpha=alpha)
    e, total, top, mean, back = documented_v3(x, k, alpha, loops, (total, top, mean) if update else None)
    agree(tile.result(), e)
    for slot, want in ((1, total), (2, top), (4, mean)):
        agree(tile.stats(slot, "F32"), want, floor=1e-7)
    if update:
        agree(tile.stats(3, "F16"), back)


def test_rows_of_infinities():
    """A row whose maximum is minus infinity is 0/0 on the hardware as well; one plus infinity likewise."""
    tile = Tile(None, "float", 2, 0, 8, 0, False)
    raw = torch.full((2, 8), -math.inf)
    raw[1] = 1.0
    tile.inputs[0][:64] = raw.flatten().view(torch.uint8)
    got = tile.run(0).result()
    assert torch.isnan(got[0]).all() and torch.equal(got[1], torch.full((8,), 0.125))
