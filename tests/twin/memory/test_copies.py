"""Every form of DataCopy and DataCopyPad byte by byte, and what else the headers offer: queues asked about their state,
views, scalar access to GM, tiling macros, printing, assertions.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
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


ROUTES = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __cube__ void routes(GM_ADDR x, GM_ADDR y, uint32_t way) {
    TPipe pipe;
    TBuf<TPosition::A1> l1;
    TBuf<TPosition::A2> l0a;
    TBuf<TPosition::CO1> l0c;
    pipe.InitBuffer(l1, 4096);
    pipe.InitBuffer(l0a, 4096);
    pipe.InitBuffer(l0c, 4096);
    LocalTensor<half> a = l1.Get<half>(), b = l0a.Get<half>(), c = l0c.Get<half>();
    GlobalTensor<half> gx, gy;
    gx.SetGlobalBuffer((__gm__ half*)x, 1024);
    gy.SetGlobalBuffer((__gm__ half*)y, 1024);
    DataCopyExtParams row(1, 2048, 0, 0, 0);
    DataCopyParams blocks(1, 64, 0, 0);
    DataCopyPadExtParams<half> none(false, 0, 0, half(0));
    if (way == 1) DataCopy(b, gx, 1024);
    if (way == 2) DataCopy(c, gx, blocks);
    if (way == 3) DataCopyPad(a, gx, row, none);
    DataCopy(a, gx, 1024);
    PipeBarrier<PIPE_ALL>();
    if (way == 4) DataCopy(gy, c, blocks);
    if (way == 5) DataCopyPad(gy, a, row);
    DataCopy(gy, a, 1024);
    PipeBarrier<PIPE_ALL>();
}
"""


@pytest.mark.parametrize(
    "way, says",
    [(0, ""), (1, "DataCopy from GM to L0A"), (2, "DataCopy from GM to L0C"), (3, "DataCopyPad from GM to L1")]
    + [(4, "DataCopy from L0C to GM"), (5, "DataCopyPad from L1 to GM")],
)
def test_ways_between_gm_and_a_cube_core(tmp_path, way, says):
    (tmp_path / "routes.asc").write_text(ROUTES)
    x = torch.arange(1024, dtype=torch.float16).npu()
    y = torch.zeros_like(x)
    record = labkit.kernel(tmp_path / "routes.asc")[1](x, y, way)
    assert [f.code for f in record.findings] == ["copy-route"] * bool(says)
    assert says in record.report() and equal(y.cpu(), x.cpu())
