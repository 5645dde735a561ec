"""Cast of the twin's lane arithmetic: every pair and rounding mode of A2 against the rule of the mode, written out in
float64 (which holds every source exactly; longdouble for int64), 8- and 16-bit sources exhaustively.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from twin_math import ALL_HALVES, DT, F32, MODES, NP, PAIRS, Math, rng, same, some


@pytest.fixture(scope="module")
def m() -> Math:
    return Math("native")


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def whole(x, mode):
    """x (float64 or longdouble) to a whole number by the mode's rule."""
    t = np.trunc(x)
    cut = np.abs(x - t)
    up = {
        "Trunc": cut > 2,
        "Floor": (cut > 0) & (x < 0),
        "Ceil": (cut > 0) & (x > 0),
        "Round": cut >= 0.5,
        "Odd": (cut > 0) & (np.fmod(t, 2) == 0),
    }.get(mode, (cut > 0.5) | ((cut == 0.5) & (np.fmod(t, 2) != 0)))
    return np.where(np.isfinite(x), np.copysign(np.abs(t) + up, x), x)


def to_float(x, mode, mantissa, lowest, largest):
    """x rounded to a binary format: `mantissa` bits after the point, exponents from `lowest`. Overflow as IEEE 754."""
    step = np.ldexp(np.ones_like(x), np.maximum(np.frexp(np.abs(x))[1] - 1, lowest) - mantissa)
    y = np.where(np.isfinite(x), whole(x / step, mode) * step, x)
    inward = {"Trunc": x == x, "Odd": x == x, "Floor": x > 0, "Ceil": x < 0}.get(mode, x != x)
    over = np.isfinite(x) & (np.abs(y) > largest)
    return np.where(over, np.copysign(np.where(inward, largest, np.inf), x), y)


def bf16(x32):
    return np.where(np.isnan(x32), np.uint16(0x7FC0), (x32.view(np.uint32) >> 16).astype(np.uint16))


def cast_golden(to, frm, mode, s):
    exact = np.longdouble if frm == "I64" else np.float64
    x = ((s.astype(np.uint32) << 16).view(F32) if frm == "BF16" else s).astype(exact)
    if to == "F16":
        return to_float(x, mode, 10, -14, 65504.0).astype(np.float16)
    if to == "BF16":
        return bf16(to_float(x, mode, 7, -126, 3.3895313892515355e38).astype(F32))
    if to == "F32":
        return (whole(x, mode) if frm == "F32" else to_float(x, mode, 23, -126, np.finfo(F32).max)).astype(F32)
    if frm in ("I32", "I64"):
        return np.clip(s.astype(object), np.iinfo(NP[to]).min, np.iinfo(NP[to]).max).astype(NP[to])
    y, info = whole(np.nan_to_num(x, nan=0.0, posinf=np.inf, neginf=-np.inf), mode), np.iinfo(NP[to])
    inside = np.where((y >= info.min) & (y < float(info.max) + (info.bits < 64)), y, 0).astype(NP[to])
    return np.where(y >= float(info.max), info.max, np.where(y < info.min, info.min, inside)).astype(NP[to])


def cast_sources(frm):
    if np.dtype(NP[frm]).itemsize < 4:
        return np.arange(65536, dtype=np.uint16).astype(NP[frm]) if frm != "F16" else ALL_HALVES
    if frm == "F32":  # near whole numbers and halves of them, and at the edges of fp16 and bf16
        ties = np.arange(-400, 400, dtype=F32) / 2
        edges = (ALL_HALVES[::11].astype(F32)[:, None] * F32([1, 1 + 2**-11, 1 + 2**-12])).ravel()
        limits = F32([2.0**15, 2.0**31, 2.0**63, 32767.5, 65519.996, 65520, 65535, 65536, 2**-25, 2**-24, 3 * 2**-26])
        return np.concatenate(
            [
                some("F32"),
                ties,
                np.nextafter(ties, F32(9)),
                edges,
                limits,
                -limits,
                rng.uniform(-4e4, 4e4, 4000).astype(F32),
            ]
        )
    shift = rng.integers(0, np.dtype(NP[frm]).itemsize * 8, 8000).astype(NP[frm])
    return np.concatenate(
        [some(frm), rng.integers(np.iinfo(NP[frm]).min, np.iinfo(NP[frm]).max, 8000, NP[frm]) >> shift]
    )


@pytest.mark.parametrize("frm, to", [(f, t) for f in PAIRS for t in PAIRS[f]])
def test_cast(m, frm, to):
    s = cast_sources(frm)
    for mode in MODES[:-1]:
        if (frm, to) == ("I32", "F16"):
            same(m.cast(to, frm, mode, s), s.astype(F32))  # the scale's path: no mode, through fp32
        else:
            same(m.cast(to, frm, mode, s), cast_golden(to, frm, mode, s))


def test_cast_under_a_scale(m):
    s = some("I32")
    want = s.astype(F32) * F32(2**-17) * F32(0.125) * F32(2**17)
    same(m("cast_scaled", s, ctypes.c_float(0.125), out=np.float16, n=len(s)), want)


def test_narrowing_in_place(m):
    """A cast to a narrower type may write where it read from."""
    for to, frm in (("F16", "F32"), ("I16", "I32"), ("F32", "I64"), ("I8", "F16")):
        s = some(frm)
        want = m.cast(to, frm, "Rint", s)
        p = ctypes.c_void_p(s.ctypes.data)
        m.c.m_cast(DT[to], DT[frm], 1, p, p, ctypes.c_size_t(len(s)))
        same(s.view(NP[to])[: len(s)], want)


def test_what_is_supported(m):
    def cast(to, frm, mode):
        return m.c.m_supports_cast(DT[to], DT[frm], MODES.index(mode))

    assert {(f, t) for f in DT for t in DT if cast(t, f, "None")} == {(f, t) for f in PAIRS for t in PAIRS[f]}
    assert cast("F16", "F32", "Odd") and not cast("BF16", "F32", "Odd") and not cast("F16", "F32", "Hybrid")
    assert cast("F32", "I32", "Floor") and not cast("F32", "F16", "Rint") and not cast("I32", "I64", "Trunc")
    assert not m.c.m_supports(b"Add", DT["BF16"]) and not m.c.m_supports(b"CopyIn", DT["F32"])
    assert m.c.m_supports_compare(2, DT["I32"]) and not m.c.m_supports_compare(0, DT["I32"])
