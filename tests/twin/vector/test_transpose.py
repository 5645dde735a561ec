"""TransDataTo5HD and Transpose against numpy written from the public documents, byte for byte over an image of UB."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from same import equal  # noqa: E402
from twin_golden import BLOCK, NP, TYPES
from twin_image import HERE, Shared, agree

import labkit

BYTES = 81920  # from `work` on the largest image has its documented scratch: 19,456 bytes
TYPED = ["F16", "F32", "I8", "U8", "I16", "U16", "I32", "U32"]
NCHW2NHWC, NHWC2NCHW, B16 = 11, 12, 10
some = settings(max_examples=20, deadline=None)


@pytest.fixture(scope="module")
def run():
    kernel = labkit.kernel(HERE / "transpose.asc")
    image, out = Shared(BYTES), Shared(BYTES)
    blank = dict(
        dst=0,
        src=0,
        work=0,
        dstGap=0,
        srcGap=0,
        times=0,
        dstRep=0,
        srcRep=0,
        dstHigh=0,
        srcHigh=0,
        n=0,
        c=0,
        h=0,
        w=0,
        kind=0,
    )

    def form(start, t, findings=(), **f):
        image.bytes[:], out.bytes[:] = start, 0x5A
        record = kernel[1](
            image.tensor, out.tensor, kernel.struct("Form", **(blank | dict(type=TYPES.index(t), bytes=BYTES) | f))
        )
        assert record.finished and [x.code for x in record.findings] == list(findings), record.report()
        return out.bytes.copy()

    return form


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, BYTES).astype(np.uint8)


def turned(blocks: np.ndarray, old: np.ndarray, size: int, dst_high: bool, src_high: bool) -> np.ndarray:
    """16 blocks of 32 bytes -> 16 blocks; of 8-bit elements one half of each block, and the other half stays."""
    if size == 1:
        new = old.copy()
        new[:, 16 * dst_high : 16 * dst_high + 16] = blocks[:, 16 * src_high : 16 * src_high + 16].T
        return new
    matrix = np.ascontiguousarray(blocks).view(f"u{size}")  # 16 x (32 / size)
    return np.ascontiguousarray(matrix.T).view(np.uint8).reshape(16, 32)


@pytest.mark.parametrize("t", TYPED)
def test_trans_data_to_5hd(run, t):
    size = np.dtype(NP[t]).itemsize

    @some
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        gaps = st.sampled_from([32, 64, 512, 1024])
        f = dict(
            op=data.draw(st.integers(0, 2)),
            dst=32 * data.draw(st.integers(0, 8)),
            src=24576 + 32 * data.draw(st.integers(0, 8)),
            work=60000 // 32 * 32,
            dstGap=data.draw(gaps),
            srcGap=data.draw(gaps),
            times=data.draw(st.integers(0, 5)),
            dstRep=data.draw(st.sampled_from([0, 1, 2, 16])),
            srcRep=data.draw(st.sampled_from([0, 1, 2, 16])),
            dstHigh=data.draw(st.booleans()),
            srcHigh=data.draw(st.booleans()),
        )
        start = noise(seed)
        want = start.copy()
        at = lambda base, gap, rep, r: (
            np.array([base + i * gap + (r if f["times"] > 1 else 1) * rep * BLOCK for i in range(16)])[:, None]
            + np.arange(32)
        )  # noqa: E731
        for r in range(f["times"]):
            d, s = at(f["dst"], f["dstGap"], f["dstRep"], r), at(f["src"], f["srcGap"], f["srcRep"], r)
            want[d] = turned(want[s], want[d], size, f["dstHigh"], f["srcHigh"])
        if f["op"] == 2:
            want[f["work"] : f["work"] + 256] = 0  # the lists themselves, cleared by the kernel
        agree(run(start, t, **f), want, np.uint8)

    check()


def test_the_published_example(run):
    """int8, from the upper halves to the upper halves: row j of the result holds
    element 16 + j of each source block.
    """
    x = (np.arange(512) % 128).astype(np.uint8)
    start = np.zeros(BYTES, np.uint8)
    start[1024:1536] = x
    got = run(start, "I8", op=1, dst=0, src=1024, dstGap=32, srcGap=32, times=1, dstHigh=1, srcHigh=1)[:512].reshape(
        16, 32
    )
    assert not got[:, :16].any()
    assert got[0, 16:].tolist() == [16, 48, 80, 112] * 4 and got[15, 16:].tolist() == [31, 63, 95, 127] * 4


def test_nchw_to_nc1hwc0(run):
    """The documented use: planes of 16 channels become pixels of 16 channels, over all repeats of a plane."""
    x = np.random.default_rng(0).integers(0, 2**16, (16, 4, 16)).astype(np.uint16)
    start = np.zeros(BYTES, np.uint8)
    start[8192 : 8192 + x.nbytes] = x.view(np.uint8).ravel()
    got = run(start, "U16", op=1, dst=0, src=8192, dstGap=32, srcGap=128, times=4, dstRep=16, srcRep=1)
    assert equal(got[: x.nbytes].view(np.uint16).reshape(64, 16), x.reshape(16, 64).T)


@pytest.mark.parametrize("t", ["F16", "I16", "U16"])
@pytest.mark.parametrize("op", [3, 4])
def test_transpose_16x16(run, t, op):
    for src, dst in ((512, 2048), (512, 512)):  # also in place
        start = noise(3)
        want = start.copy()
        want[dst : dst + 512] = start[src : src + 512].view(np.uint16).reshape(16, 16).T.copy().view(np.uint8).ravel()
        agree(run(start, t, op=op, kind=B16, src=src, dst=dst, work=8192, h=16, w=16), want, np.uint8)


@pytest.mark.parametrize("t", TYPED)
def test_transpose_images(run, t):
    size = np.dtype(NP[t]).itemsize

    @some
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        n, c = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 9))
        h, w = data.draw(st.sampled_from([(1, 32), (2, 16), (4, 8), (8, 12), (16, 16)]))
        kind = data.draw(st.sampled_from([NCHW2NHWC, NHWC2NCHW]))
        f = dict(op=4, kind=kind, src=0, dst=28672, work=57344, n=n, c=c, h=h, w=w)
        start = noise(seed)
        want, count = start.copy(), n * c * h * w
        shape, axes = ((n, c, h, w), (0, 2, 3, 1)) if kind == NCHW2NHWC else ((n, h, w, c), (0, 3, 1, 2))
        x = start[: count * size].view(f"u{size}").reshape(shape)
        want[f["dst"] : f["dst"] + count * size] = np.ascontiguousarray(x.transpose(axes)).view(np.uint8).ravel()
        got = run(start, t, **f)
        got[f["work"] :], want[f["work"] :] = 0, 0  # scratch
        agree(got, want, np.uint8)

    check()
