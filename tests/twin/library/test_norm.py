"""Normalizations against their formulas in float64: shapes, padding, types, every form, with the host's own tilings for
anything between the least and the most temporary space."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from same import equal  # noqa: E402
from twin_adv import TORCH, agree, asked, kernel, launch, sizes, tiling

SLOT, IN, OUT = 6144, 5, 3
some = settings(max_examples=20, deadline=None)
NUMBER = {
    "LayerNorm": 0,
    "DeepNorm": 1,
    "RmsNorm": 2,
    "BatchNorm": 3,
    "GroupNorm": 4,
    "LayerNormGrad": 5,
    "LayerNormGradBeta": 6,
    "LayerNormRstd": 10,
    "Normalize": 11,
    "WelfordUpdate": 20,
    "WelfordFinalize": 30,
}
TYPE = {"half": (0, "F16"), "float": (1, "F32")}


class Tile:
    def __init__(self, types: str, seed: int, room: float, spare: bool = False):
        self.code, self.t = TYPE[types]
        self.dtype, self.size = TORCH[self.t], TORCH[self.t].itemsize
        self.unit = 32 // self.size
        self.rng = np.random.default_rng(seed)
        self.room, self.spare = room, spare
        self.gin = torch.zeros(IN, SLOT, dtype=torch.uint8)

    def put(self, slot: int, x: torch.Tensor) -> torch.Tensor:
        raw = x.contiguous().flatten().view(torch.uint8)
        self.gin[slot][: raw.numel()] = raw
        return x.double()

    def rows(self, slot: int, rows: int, width: int, own: int, scale: float = 2.0, shift: float = 0.0) -> torch.Tensor:
        """A matrix whose padding is zero."""
        x = torch.from_numpy(self.rng.normal(size=(rows, width)) * scale + shift).to(self.dtype)
        x[:, own:] = 0
        return self.put(slot, x)

    def vector(self, slot: int, n: int, low: float = -2.0, high: float = 2.0, t: str | None = None) -> torch.Tensor:
        return self.put(slot, torch.from_numpy(self.rng.uniform(low, high, n)).to(TORCH[t or self.t]))

    def run(self, name: str, question, cut: bool = True, **more):
        most, least = sizes(name, question)
        self.spare = self.spare and not (more.get("bare") and name != "WelfordFinalize")
        tmp = (least + int((most - least) * self.room) + 31) // 32 * 32
        question.room = tmp
        t = tiling(name, question) if cut else np.zeros(32, np.uint8)
        k = kernel("adv_norm.asc", "adv_norm")
        blank = dict.fromkeys(
            ("n", "rows", "own", "width", "scale_half", "bare", "rounds", "head", "head_count", "tail_count", "reuse"),
            0,
        )
        c = k.struct(
            "Call",
            which=NUMBER[name],
            form=int(self.spare),
            tmp=0 if self.spare else tmp,
            **{**blank, "eps": 1e-3, "alpha": 0.0, "rate": 0.0, "whole": 0.0, "reuse": question.reuse, **more},
        )
        gin, gout = self.gin.flatten().npu(), torch.full((SLOT * OUT,), 0x3C, dtype=torch.uint8).npu()
        seen = launch(k, gin, gout, torch.from_numpy(t).npu(), c, SLOT, self.code)
        assert seen.finished and not seen.findings, seen.report()
        self.out = gout.cpu().view(OUT, SLOT)
        return self

    def got(self, slot: int, n: int, t: str | None = None) -> torch.Tensor:
        return self.out[slot].view(TORCH[t or self.t])[:n]

    def matrix(self, slot: int, rows: int, width: int, own: int) -> torch.Tensor:
        return self.got(slot, rows * width).view(rows, width)[:, :own]


tiles = st.builds(Tile, st.sampled_from(["half", "float"]), st.integers(0, 10**6), st.floats(0, 1), st.booleans())
shapes = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 120), st.integers(0, 1))


def widths(tile, own: int, pad: int) -> int:
    return ((own + tile.unit - 1) // tile.unit + pad) * tile.unit


def near(tile, got, exact, scale: float = 1.0):
    """Within a unit of the last place, or what cancels in float32 of numbers of that scale."""
    agree(got, exact, floor=scale * (1e-6 if tile.t == "F32" else 1e-3))


EPS16, EPS32 = float(np.float16(1e-3)), float(np.float32(1e-3))


def eps(tile) -> float:
    return EPS16 if tile.t == "F16" else EPS32


@some
@given(tiles, shapes, st.booleans(), st.sampled_from(["LayerNorm", "DeepNorm", "RmsNorm"]))
def test_rows(tile, shape, reuse, name):
    b, s, own, pad = shape
    h, m = widths(tile, own, pad), b * s
    x = tile.rows(0, m, h, own, shift=0.5)
    gamma, beta = tile.vector(1, h), tile.vector(2, h)
    alpha = 0.0
    if name == "DeepNorm":
        alpha = 1.25
        x = alpha * x + tile.rows(3, m, h, own)
    tile.run(
        name, asked([b, s, h, own] if name == "LayerNorm" else [b, s, h], [b, s, own], tile.size, reuse), alpha=alpha
    )
    if name == "RmsNorm":
        y = x / torch.sqrt((x**2).sum(1, keepdim=True) / own + eps(tile))
        return near(tile, tile.matrix(0, m, h, own), (y * gamma)[:, :own])
    mean = x.sum(1, keepdim=True) / own
    square = (x - mean) ** 2
    var = (square if name == "LayerNorm" else square[:, :own]).sum(1, keepdim=True) / own
    near(tile, tile.matrix(0, m, h, own), ((x - mean) / torch.sqrt(var + eps(tile)) * gamma + beta)[:, :own])
    near(tile, tile.got(1, m), mean[:, 0])
    near(tile, tile.got(2, m), var[:, 0])


@some
@given(tiles, st.integers(1, 20), st.integers(1, 120), st.booleans(), st.booleans())
def test_rows_with_rstd(tile, a, own, mixed, bare):
    r = widths(tile, own, 0)
    a = min(a, SLOT // (r * tile.size))
    scales = "F32" if mixed or tile.t == "F32" else "F16"
    x, gamma, beta = tile.rows(0, a, r, own, shift=0.5), tile.vector(1, r, t=scales), tile.vector(2, r, t=scales)
    more = dict(rows=a, own=own, width=r, scale_half=int(scales == "F16"), bare=int(bare))
    tile.run("LayerNormRstd", asked([a, own], [], tile.size), **more)
    x = x[:, :own]
    mean, var = x.mean(1, keepdim=True), x.var(1, unbiased=False, keepdim=True)
    rstd = 1 / torch.sqrt(var + EPS32)
    y = (x - mean) * rstd
    near(tile, tile.matrix(0, a, r, own), y if bare else y * gamma[:own] + beta[:own])
    near(tile, tile.got(1, a, "F32"), mean[:, 0])
    agree(tile.got(2, a, "F32"), rstd[:, 0])


@some
@given(tiles, st.integers(1, 20), st.integers(1, 120), st.booleans(), st.booleans())
def test_normalize(tile, a, own, mixed, bare):
    r = widths(tile, own, 0)
    a = min(a, SLOT // (r * tile.size))
    scales = "F32" if mixed or tile.t == "F32" else "F16"
    x, gamma, beta = tile.rows(0, a, r, own), tile.vector(1, r, t=scales), tile.vector(2, r, t=scales)
    mean, var = tile.vector(3, a, t="F32"), tile.vector(4, a, 0.1, 3.0, t="F32")
    more = dict(rows=a, own=own, width=r, scale_half=int(scales == "F16"), bare=int(bare))
    tile.run("Normalize", asked([a, own], [], tile.size, more=TORCH[scales].itemsize), cut=False, **more)
    rstd = 1 / torch.sqrt(var + EPS32)
    y = (x[:, :own] - mean[:, None]) * rstd[:, None] * gamma[:own]
    near(tile, tile.matrix(0, a, r, own), y if bare else y + beta[:own])
    agree(tile.got(2, a, "F32"), rstd)


@some
@given(tiles, st.integers(1, 12), st.integers(1, 3), st.integers(1, 6), st.booleans())
def test_batch_norm(tile, b, s, blocks, reuse):
    columns = s * blocks * tile.unit
    x, gamma, beta = tile.rows(0, b, columns, columns, shift=0.5), tile.vector(1, b), tile.vector(2, b)
    tile.run(
        "BatchNorm", asked([(b + 7) // 8 * 8, s, blocks * tile.unit], [b, s, blocks * tile.unit], tile.size, reuse)
    )
    mean, var = x.mean(0), x.var(0, unbiased=False)
    y = (x - mean) / torch.sqrt(var + eps(tile)) * gamma[:, None] + beta[:, None]
    near(tile, tile.matrix(0, b, columns, columns), y)
    near(tile, tile.got(1, columns), mean)
    near(tile, tile.got(2, columns), var)


@some
@given(
    tiles, st.integers(1, 2), st.integers(1, 3), st.integers(1, 3), st.integers(1, 6), st.integers(1, 6), st.booleans()
)
def test_group_norm(tile, n, groups, d, h, w, reuse):
    c, hw = groups * d, h * w
    row = widths(tile, hw, 0)
    x, gamma, beta = tile.rows(0, n * c, row, hw, shift=0.5), tile.vector(1, c), tile.vector(2, c)
    tile.run("GroupNorm", asked([n, c, h, w], [], tile.size, reuse, more=groups))
    x = x[:, :hw].reshape(n, groups, d * hw)
    mean, var = x.mean(2, keepdim=True), x.var(2, unbiased=False, keepdim=True)
    y = ((x - mean) / torch.sqrt(var + eps(tile))).view(n, c, hw) * gamma[:, None] + beta[:, None]
    near(tile, tile.matrix(0, n * c, row, hw), y.view(n * c, hw))
    near(tile, tile.got(1, n * groups), mean.flatten())
    near(tile, tile.got(2, n * groups), var.flatten())


@some
@given(tiles, shapes, st.booleans())
def test_gradients_of_layer_norm(tile, shape, reuse):
    b, s, own, pad = shape
    h, m = widths(tile, own, pad), b * s
    x, dy, gamma = tile.rows(0, m, h, own), tile.rows(3, m, h, own), tile.vector(1, h)
    var, mean = tile.vector(2, m, 0.5, 3.0), tile.vector(4, m)
    question = asked([b, s, h, own], [], tile.size, reuse)
    tile.run("LayerNormGrad", question)
    over = torch.sqrt(var + eps(tile))[:, None]
    x1, x2 = dy * gamma, x - mean[:, None]
    pd_var = (-0.5 * x1 * x2 / over**3).sum(1, keepdim=True)
    pd_mean = (-x1 / over).sum(1, keepdim=True) + pd_var * (-2 * x2).sum(1, keepdim=True) / own
    pd_x = x1 / over + pd_var * 2 / own * x2 + pd_mean / own
    near(tile, tile.matrix(0, m, h, own), pd_x[:, :own], 10.0)
    near(tile, tile.matrix(1, m, h, own), (x2 / over)[:, :own])

    question.room = 0
    tile.run("LayerNormGradBeta", question)
    near(tile, tile.got(0, own), (dy * x).sum(0)[:own], 10.0)
    near(tile, tile.got(1, own), dy.sum(0)[:own], 10.0)


@some
@given(tiles, st.integers(1, 20), st.integers(1, 160), st.booleans(), st.booleans(), st.integers(1, 30))
def test_welford_update(tile, blocks, active, keep, reuse, rounds):
    width = blocks * 16
    active = min(active, width)
    x, mean, var = tile.vector(0, width), tile.vector(3, width, t="F32"), tile.vector(4, width, 0, 3, t="F32")
    rate = float(np.float32(1 / rounds))
    tile.run(
        "WelfordUpdate",
        asked([1, width], [], tile.size, reuse, more=int(keep)),
        cut=False,
        own=active,
        width=width,
        bare=int(keep),
        rate=rate,
    )
    one = torch.tensor(rate, dtype=torch.float32)
    off = x.float() - mean.float()  # in float, step by step
    new = mean.float() + off * one
    spread = var.float() + off * (x.float() - new)
    assert equal(tile.got(1, active, "F32"), new[:active])
    assert equal(tile.got(2, active, "F32"), spread[:active])
    rest = (
        mean[active:].float()
        if keep
        else torch.full((4 * (width - active),), 0x3C, dtype=torch.uint8).view(torch.float32)
    )
    assert equal(tile.got(1, width, "F32")[active:], rest)


@some
@given(tiles, st.integers(1, 20), st.integers(0, 160), st.integers(1, 9), st.sampled_from(["even", "tail", "counts"]))
def test_welford_finalize(tile, blocks, head, rounds, how):
    width = blocks * 8
    head = min(head, width) if how == "tail" else width
    mean, var = tile.vector(3, width, t="F32"), tile.vector(4, width, 0, 3, t="F32")
    if how == "counts":
        count = tile.put(0, torch.from_numpy(tile.rng.integers(1, 9, width)).to(torch.int32))
    else:
        count = torch.full((width,), float(rounds), dtype=torch.float64)
        count[head:] = rounds + 2
    rate, whole = float(np.float32(1 / width)), float(np.float32(1 / count.sum()))
    tile.run(
        "WelfordFinalize",
        asked([width], [], 4),
        cut=False,
        own=width,
        width=width,
        bare=int(how == "counts"),
        rounds=rounds,
        head=head,
        head_count=rounds,
        tail_count=rounds + 2,
        rate=rate,
        whole=whole,
    )
    even = how == "even" or (how == "tail" and head == width)
    total = (mean * rate).sum() if even else (mean * count).sum() * whole
    spread = (var + count * (mean - total) ** 2).sum() * whole
    zeros = torch.zeros(7, dtype=torch.float64)
    near(tile, tile.got(1, 8, "F32"), torch.cat([total[None], zeros]))
    near(tile, tile.got(2, 8, "F32"), torch.cat([spread[None], zeros]))
