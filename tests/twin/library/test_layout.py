"""Transpose with a tiling and TransData against numpy written from the public documents, with the tilings and scratch
that the host's functions give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rearrange_lab import DST, DT, SRC, host, noise, place, values, whole  # noqa: F401
from twin_image import agree

some = settings(max_examples=12, deadline=None)


def nz(m: np.ndarray) -> np.ndarray:
    """The last two axes [rows, columns] as [columns / 16, rows / 16, 16, 16]."""
    *lead, rows, columns = m.shape
    return m.reshape(*lead, rows, columns // 16, 16).swapaxes(-3, -2)


SPARE = 196608 - 131072 - 64  # behind the image


def up16(n: int) -> int:
    return -(-n // 16) * 16


def columns(m: np.ndarray, n: int) -> np.ndarray:
    return np.pad(m, [(0, 0)] * (m.ndim - 1) + [(0, n - m.shape[-1])])


def scene(number: int, m: np.ndarray):
    """What lies in memory before and after, and which of the latter counts;
    m is [B, A1, A2, A3] or [B, N, S, H / N].
    """
    b, n, s, h = m.shape
    if number <= 2:
        src, to = nz(m), m.transpose(0, 2, 1, 3)
        return src, to if number == 1 else nz(to), None
    joined, apart = columns(m.transpose(0, 2, 1, 3).reshape(b, s, n * h), up16(n * h)), columns(m, up16(h))
    known = (
        columns(np.ones(m.shape, bool).transpose(0, 2, 1, 3).reshape(b, s, n * h), up16(n * h)),
        columns(np.ones(m.shape, bool), up16(h)),
    )
    if number <= 4:
        return nz(joined), nz(apart) if number == 3 else apart, nz(known[1]) if number == 3 else known[1]
    return nz(apart), joined if number == 5 else nz(joined), known[0] if number == 5 else nz(known[0])


@pytest.mark.parametrize("t", ["half", "float"])
@pytest.mark.parametrize("number", range(1, 7))
@some
@given(
    b=st.integers(1, 2),
    n=st.integers(1, 4),
    s=st.integers(1, 3),
    h=st.integers(1, 40),
    room=st.integers(0, 2),
    seed=st.integers(0, 999),
)
def test_transpose_scenes(whole, host, t, number, b, n, s, h, room, seed):  # noqa: F811
    rng, size, s = np.random.default_rng(seed), DT[t]().itemsize, 16 * s
    if number <= 2:
        h, n = up16(h), 16 * min(n, 2) if number == 2 else n
    while b * n * s * up16(h) * size > 32768:
        b, s = 1, max(16, s // 32 * 16)
        if s == 16:
            h = 16
    m, start = values(rng, b * n * s * h, t).reshape(b, n, s, h), noise(rng)
    src, want, known = scene(number, m)
    place(start, SRC, src)
    image = start.copy()
    place(image, DST, want)
    most, least = host.sizes("transpose", [b, n, s, h], 4, size, number)
    tiling = host.tiling("transpose", [b, n, s, h], 4, size, number)
    got = whole(start, "Transpose", t, tiling=tiling, work_bytes=[0, least, most][room], a=number)
    if known is not None:  # columns that only fill up the last 16
        fill = np.repeat(~known.ravel(), size)
        got[DST : DST + len(fill)][fill] = image[DST : DST + len(fill)][fill]
    agree(got, image, DT[t])


@pytest.mark.parametrize("t", ["half", "float", "int32"])
@some
@given(height=st.integers(1, 6), width=st.integers(1, 10), seed=st.integers(0, 999))
def test_transpose_matrix(whole, host, t, height, width, seed):  # noqa: F811
    rng, size = np.random.default_rng(seed), DT[t]().itemsize
    height, width = 16 * height, width * 32 // size
    m, start = values(rng, height * width, t).reshape(height, width), noise(rng)
    place(start, SRC, m)
    image = start.copy()
    place(image, DST, m.T)
    assert host.sizes("transpose", [height, width], 2, size, 7) == (0, 0)
    agree(whole(start, "Transpose", t, tiling=host.tiling("transpose", [height, width], 2, size, 7), a=7), image, DT[t])


def test_transpose_says_what_does_not_fit(whole, host):  # noqa: F811
    start = noise(np.random.default_rng(0))
    whole(start, "Transpose", "half", tiling=host.tiling("transpose", [10, 32], 2, 2, 7), findings=["adv-shape"], a=7)
    whole(
        start,
        "Transpose",
        "half",
        tiling=host.tiling("transpose", [16, 16], 2, 2, 7),
        findings=["transpose-type"],
        a=13,
    )
    whole(
        start,
        "Transpose",
        "half",
        tiling=host.tiling("transpose", [1, 1, 16, 16], 4, 2, 1),
        findings=["adv-tmp-small"],
        a=1,
        work_bytes=480,
    )


def sixteen(m: np.ndarray, fractal: bool) -> np.ndarray:
    """NCDHW as NDC1HWC0, or as D C1 H W N1 N0 C0."""
    n, c, d, h, w = m.shape
    m = np.pad(m, [(0, up16(n) - n if fractal else 0), (0, up16(c) - c), (0, 0), (0, 0), (0, 0)])
    m = m.reshape(m.shape[0], up16(c) // 16, 16, d, h, w)
    return m.transpose(3, 1, 4, 5, 0, 2) if fractal else m.transpose(0, 3, 1, 4, 5, 2)


@pytest.mark.parametrize("fractal", [False, True])
@pytest.mark.parametrize("back", [False, True])
@some
@given(
    n=st.integers(1, 20),
    c=st.integers(1, 40),
    d=st.integers(1, 3),
    h=st.integers(1, 6),
    w=st.integers(1, 6),
    room=st.booleans(),
    seed=st.integers(0, 999),
)
def test_trans_data(whole, host, fractal, back, n, c, d, h, w, room, seed):  # noqa: F811
    rng = np.random.default_rng(seed)
    d = max(1, min(d, 320 // (up16(n) * up16(c) * up16(h * w) // 256)))
    while (up16(n) if fractal else n) * up16(c) * d * up16(h * w) * 2 > 32768:
        n, c = (n + 1) // 2, (c + 1) // 2
        if n == c == 1:
            d = h = 1
    m, start = rng.integers(-9999, 9999, (n, c, d, h, w)).astype(np.int16), noise(rng)
    planes = np.full((n, c, d, up16(h * w)), 77, np.int16)
    planes[..., : h * w] = m.reshape(n, c, d, h * w)
    blocks = np.ascontiguousarray(sixteen(m, fractal))
    place(start, SRC, blocks if back else planes)
    want = start.copy()
    place(want, DST, planes if back else blocks)
    most, least = host.sizes("trans_data", [n, c, d, h, w], fractal, back)
    kw = dict(a=n << 16 | c, b=d, c=h, d=w, mask=2 * fractal + back)
    if least > 32768:
        room = False
    got = whole(
        start,
        "TransData",
        "half",
        findings=["adv-no-room"] if not room and least > SPARE else [],
        **kw,
        work_bytes=least if room else 0,
    )
    if not room and least > SPARE:
        return
    if back:  # what lies behind a plane
        got[DST : DST + planes.nbytes].view(np.int16).reshape(planes.shape)[..., h * w :] = 77
    agree(got, want, np.float16)
    if room:
        whole(start, "TransData", "half", findings=["adv-tmp-small"], **kw, work_bytes=(least - 1) // 32 * 32)
