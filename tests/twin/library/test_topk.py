"""TopK against numpy written from the public documents, with the tilings and scratch that the host's functions give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rearrange_lab import DST, DT, MORE, SRC, host, noise, place, whole  # noqa: F401
from test_sort import scores
from twin_image import agree

some = settings(max_examples=15, deadline=None)


def first(x: np.ndarray, k: int, largest: bool) -> np.ndarray:
    """Places of the first k, NaN before all others; of equal ones the earlier first.
    The unit sorts -x for the smallest.
    """
    y = x if largest else -x
    return np.array(sorted(range(len(x)), key=lambda i: (0, 0) if np.isnan(y[i]) else (1, -float(y[i])))[:k], np.int64)


@pytest.mark.parametrize("t", ["half", "float"])
@pytest.mark.parametrize("kind", ["normal", "normal own", "normal finish", "small", "small own"])
@some
@given(
    rows=st.integers(1, 6),
    n=st.integers(1, 300),
    k=st.integers(1, 300),
    largest=st.booleans(),
    room=st.integers(0, 1),
    seed=st.integers(0, 999),
)
def test_topk(whole, host, t, kind, rows, n, k, largest, room, seed):  # noqa: F811
    rng, size = np.random.default_rng(seed), DT[t]().itemsize
    small, own = kind.startswith("small"), kind.endswith("own")
    n = min(n, 32) if small else n
    k, inner = min(k, n), -(-n // 32) * 32
    x, start = scores(rng, rows * inner, t).reshape(rows, inner), noise(rng)
    x[np.isnan(x)] = 1  # NaN of either sign sorts first here and there alike; their payloads are of no interest
    x[:, n:] = -np.inf if largest else np.inf
    names = (
        rng.integers(0, 2**31, (rows if small else 1, inner)).astype(np.int32)
        if own
        else np.arange(inner, dtype=np.int32)[None]
    )
    finish = rng.integers(0, 2, rows).astype(np.uint8)
    value_at, index_at, names_at, finish_at = DST, DST + 16384, MORE, MORE + 16384
    place(start, SRC, x)
    if own:
        place(start, names_at, names)
    place(start, finish_at, finish)
    want = start.copy()
    value_row, index_row = (k, k) if small else (-(-k * size // 32) * 32 // size, -(-k // 8) * 8)
    for i in range(rows):
        at = first(x[i], k, largest)
        index = names[i % len(names)][at]
        if kind == "normal finish" and finish[i]:
            index = np.full(k, n, np.int32)
        y = x[i][at]
        place(want, value_at + i * value_row * size, y if largest else -(-y))
        place(want, index_at + i * index_row * 4, index)
    most, least = host.sizes("top", inner, rows, own, int(small), largest, size)
    tiling = host.tiling("top", inner, rows, k, size, own, int(small), largest)
    assert int(tiling[:4].view(np.int32)[0]) * size <= least == most
    kinds = ["normal", "normal own", "normal finish", "small", "small own"]
    got = whole(
        start,
        "TopK",
        t,
        tiling=tiling,
        dst=value_at,
        dst2=index_at,
        src2=names_at,
        mask=finish_at,
        work_bytes=room * least,
        a=k,
        b=rows,
        c=inner,
        d=n | largest << 16,
        x=float(kinds.index(kind)),
    )
    for i in range(rows):  # whole blocks may be written behind a row's k
        for at, row, width in ((value_at, value_row, size), (index_at, index_row, 4)):
            a, b = at + (i * row + k) * width, at + (i + 1) * row * width
            got[a:b] = want[a:b]
    agree(got, want, DT[t])


def test_topk_says_what_does_not_fit(whole, host):  # noqa: F811
    start = noise(np.random.default_rng(0))
    for inner, n, k, kind in [
        (32, 20, 21, 0),
        (40, 40, 3, 0),
        (64, 50, 3, 3),
        (8192, 8192, 1, 0),
        (32, 33, 1, 0),
        (32, 5, 0, 0),
    ]:
        tiling = host.tiling("top", 32, 1, 1, 4, False, kind // 3, True)
        whole(
            start,
            "TopK",
            "float",
            tiling=tiling,
            findings=["topk-shape"],
            dst2=MORE,
            mask=MORE + 64,
            a=k,
            b=1,
            c=inner,
            d=n | 1 << 16,
            x=float(kind),
        )
    tiling = host.tiling("top", 64, 1, 3, 4, False, 0, True)
    whole(
        start,
        "TopK",
        "float",
        tiling=tiling,
        findings=["adv-tmp-small"],
        dst2=MORE,
        mask=MORE + 64,
        work_bytes=64 * 20 - 32,
        a=3,
        b=1,
        c=64,
        d=60 | 1 << 16,
    )


def test_sort_scratch(host):  # noqa: F811
    for n, size in [(32, 2), (4096, 4)]:
        assert host.shim.size_sort(n, size) == 8 * n
