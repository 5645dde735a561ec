"""Every form of DataCopy and DataCopyPad byte by byte, and what else the headers offer: queues asked about their state,
views, scalar access to GM, tiling macros, printing, assertions.
"""

from __future__ import annotations

import numpy as np
import pytest
import twin_golden as golden
from hypothesis import given, settings
from hypothesis import strategies as st
from same import equal  # noqa: E402
from twin_image import BYTES, HERE, MEMORY, REGION, blocks, lab  # noqa: F401  (lab is a fixture)

import labkit

many = settings(max_examples=60)


# ---- copies


@st.composite
def moves(draw, kind: int):
    size = draw(st.sampled_from([1, 2, 4]))
    m = dict(kind=kind, size=size, local=draw(blocks), other=2 * REGION + draw(blocks), blocks=draw(st.integers(0, 6)))
    m["global"] = draw(st.integers(0, 64)) * size
    m["count"] = draw(st.integers(0, 40)) * 32 // size
    if kind in (1, 5, 9):
        m |= dict(length=draw(st.integers(0, 5)), srcGap=draw(st.integers(0, 4)), dstGap=draw(st.integers(0, 4)))
    else:
        m |= dict(
            length=draw(st.integers(0, 70)) * size,
            srcGap=draw(st.integers(0, 4)) * (size if kind in (2, 3) else 1),
            dstGap=draw(st.integers(0, 4)) * (1 if kind in (2, 3) else size),
            pad=int(draw(st.booleans())),
            left=draw(st.integers(0, 32 // size)),
            right=draw(st.integers(0, 32 // size)),
            value=draw(st.integers(0, 2**32 - 1)),
        )
        if draw(st.booleans()):
            m |= dict(left=0, right=0)
    return m


@pytest.mark.parametrize("kind", range(10))
def test_copies(lab, kind):
    @many
    @given(moves(kind))
    def check(m):
        rng = np.random.default_rng(11)
        image, memory = rng.integers(0, 256, BYTES).astype(np.uint8), rng.integers(0, 256, MEMORY).astype(np.uint8)
        want_image, want_memory = image.copy(), memory.copy()
        loose = golden.move(want_image, want_memory, m)
        got_image, got_memory = lab.move(image, memory, **m)
        assert equal(got_memory, want_memory)
        wrong = np.flatnonzero((got_image != want_image) & ~loose)
        assert not len(wrong), f"{len(wrong)} bytes, first {wrong[0]}"

    check()


def test_the_largest_copies(lab):
    """Many blocks and long ones, with gaps: 200 rows of 33 bytes, and back."""
    rng = np.random.default_rng(3)
    image, memory = rng.integers(0, 256, BYTES).astype(np.uint8), rng.integers(0, 256, MEMORY).astype(np.uint8)
    for m in (
        dict(kind=2, blocks=200, length=33, srcGap=7, dstGap=0),
        dict(kind=6, blocks=200, length=33, srcGap=0, dstGap=7),
        dict(kind=1, blocks=150, length=1, srcGap=1, dstGap=2),
        dict(kind=9, blocks=80, length=1, srcGap=2, dstGap=1),
    ):
        m = dict(size=1, local=0, other=8192, count=0, pad=0, left=0, right=0, value=0, **{"global": 5}, **m)
        want_image, want_memory = image.copy(), memory.copy()
        golden.move(want_image, want_memory, m)
        got_image, got_memory = lab.move(image, memory, **m)
        assert equal(got_image, want_image) and np.array_equal(got_memory, want_memory)


# ---- the rest


def test_everything_else():
    import torch

    k = labkit.kernel(HERE / "misc.asc", entry="look")
    z = torch.zeros(64, dtype=torch.int32).npu()
    record = k[1](z, k.struct("Sizes", a=1, b=2, c=3, d=[1.0, 2.0, 3.5], e=-9))
    assert record.ok and not record.findings, record.report()
    want = [
        1,
        0,
        1,
        2,
        1,
        1,
        2,
        32,
        128,
        128,
        32,
        64,
        5,
        512,
        10,
        64,
        77,
        64,
        2,
        2,
        123,
        123,
        10,
        10,
        32,
        1,
        6,
        7,
        -9,
        43123,
        5,
        -3,
        210,
        0,
        24,
        4,
    ]
    assert z.cpu().tolist()[: len(want)] == want
    lines = record.output.splitlines()
    assert lines[0] == "[block 0] slots 36, text, -1, 0.500000, 1099511627776"
    assert "desc=3" in lines[1] and "GM int32_t[2]" in lines[1] and lines[2].split("]")[-1].split() == ["1", "1"]
    assert "desc=4" in lines[3] and lines[4].split("]")[-1].split() == ["5"]
    assert [(b["kind"], b["pos"], b["bytes"]) for b in record.buffers] == [
        ("queue", "VECIN", 128),
        ("queue", "VECIN", 128),
        ("buf", "VECCALC", 1024),
        ("queue", "VECOUT", 32),
    ]
    assert record.ub_used == 1312


def test_an_assertion_prints_before_it_stops():
    import torch

    k = labkit.kernel(HERE / "misc.asc", entry="refuse")
    z = torch.zeros(8, dtype=torch.int32).npu()
    assert k[1](z, 4).ok
    with pytest.raises(labkit.LaunchError) as stopped:
        k[3](z, 7)
    record = stopped.value.record
    assert record.codes() == ["assert"] and record.findings[0].count == 3
    assert record.output.splitlines() == [f"[block {b}] n is 7" for b in range(3)]
    assert record.findings[0].numbers["expr"] == "n < 5"
