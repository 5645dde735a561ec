"""The ways into L1, L0A and L0B against tests/support/cube_golden.py:
strides, gaps, transpositions, image to column.
"""

from __future__ import annotations

import cube_golden as golden
import numpy as np
import pins
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from places import KERNELS
from same import equal  # noqa: E402

import labkit

HERE = KERNELS
TYPES = [np.float16, np.float32, np.int8]
FRACTALS, IMAGE = 24, 32  # read back; in the image
some, many = settings(max_examples=25), settings(max_examples=60)
FIELDS = "start times stride gap inner turned down height width channels kExtent mExtent kStart mStart pad left right top bottom repeatStride repeatMode nds rows cols srcMatrix srcRow dstCol dstRow dstMatrix".split()
ONES = "strideW strideH filterW filterH dilationW dilationH repeat".split()


@pytest.fixture(scope="module")
def loader():
    import torch

    k = labkit.kernel(HERE / "cube_load.asc")

    def load(image: np.ndarray, side: int, **fields) -> np.ndarray:
        """What lies in L0A, L0B (side 0, 1) or L1 (2) afterwards, fractal by fractal."""
        dtype = image.dtype
        c0 = 32 // dtype.itemsize
        form = (
            dict.fromkeys(FIELDS, 0)
            | dict.fromkeys(ONES, 1)
            | dict(type=TYPES.index(dtype.type), side=side, bytes=image.nbytes, fractals=FRACTALS)
            | fields
        )
        wide = golden.zn if side == 0 else golden.zz
        identity = wide(np.eye(c0, dtype=dtype), c0)
        result = {2: dtype.type}.get(side, np.int32 if dtype == np.int8 else np.float32)
        out = torch.from_numpy(np.zeros(FRACTALS * 16 * c0, result)).npu()
        record = k[1](
            torch.from_numpy(image.ravel().copy()).npu(),
            torch.from_numpy(identity).npu(),
            out,
            k.struct("Load", **form),
        )
        assert record.finished and not record.findings, record.report()
        got = out.cpu().numpy()
        if side == 0:
            return got.reshape(FRACTALS, 16 * c0).astype(dtype)
        if side == 1:  # C[k][n] holds the fractals of L0B side by side, columns down
            return got.reshape(c0, FRACTALS, 16).transpose(1, 2, 0).reshape(FRACTALS, 16 * c0).astype(dtype)
        return got.reshape(FRACTALS, 16 * c0)

    return load


def picture(dtype, seed: int, fractals: int = IMAGE) -> np.ndarray:
    """Whole numbers that no type rounds."""
    return np.random.default_rng(seed).integers(-100, 100, (fractals, 512 // np.dtype(dtype).itemsize)).astype(dtype)


def walks(draw, per: int, parts: int = 1) -> dict:
    """start, times, stride, gap and inner that stay within image and memory; per: source fractals a step."""
    times, stride = draw(st.integers(1, 5)), draw(st.integers(0, 3))
    span = (times - 1) * stride
    start = draw(st.integers(0, IMAGE // per - 1 - span)) if IMAGE // per > span else 0
    gap, inner = draw(st.integers(0, 3)), draw(st.integers(0, 2))
    if parts > 1:  # the parts of one square must not fall on those of the next
        assume(times == 1 or (inner == 0 and gap >= 1) or (gap == 0 and 1 + inner >= times))
    assume((times - 1) * (1 + gap) + (parts - 1) * (1 + inner) < FRACTALS and span < IMAGE // per)
    return dict(times=times, stride=stride, start=start, gap=gap, inner=inner)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op, side", [(0, 0), (0, 1), (3, 0), (3, 1), (6, 2)])
def test_load_2d(loader, dtype, op, side):
    @some
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        image = picture(dtype, seed)
        walk = walks(data.draw, 1)
        turned = dtype == np.float16 and op == 0 and data.draw(st.booleans())
        down = op == 6 and walk["start"] >= (walk["times"] - 1) * walk["stride"] and data.draw(st.booleans())
        want = np.full((FRACTALS, image.shape[1]), 0, dtype)
        if side == 2:
            want = np.full(FRACTALS * 256, 7, np.int16).view(dtype).reshape(FRACTALS, -1)
        walk.pop("inner")
        golden.load_2d(want, image, turned=turned, down=down, **walk)
        got = loader(image, side, op=op, turned=int(turned), down=int(down), **walk)
        assert equal(got.view(np.uint8), want.view(np.uint8))

    check()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("side", [0, 1])
def test_load_with_transpose(loader, dtype, side):
    parts = 1 if dtype == np.float16 else 2

    @some
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        image = picture(dtype, seed)
        walk = walks(data.draw, parts, parts)
        down = walk["start"] >= (walk["times"] - 1) * walk["stride"] and data.draw(st.booleans())
        want = np.zeros((FRACTALS, image.shape[1]), dtype)
        golden.load_turned(want, image, down=down, **walk)
        assert equal(loader(image, side, op=1, down=int(down), **walk), want)

    check()


@pytest.mark.parametrize(
    "dtype, side", [(np.float16, 0), (np.float16, 1), (np.float32, 0), (np.float32, 1), (np.int8, 0)]
)
def test_load_3d(loader, dtype, side):
    c0 = 32 // np.dtype(dtype).itemsize

    @many
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        draw = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
        f = dict(
            height=draw(1, 7),
            width=draw(1, 7),
            strideW=draw(1, 3),
            strideH=draw(1, 3),
            filterW=draw(1, 3),
            filterH=draw(1, 3),
            dilationW=draw(1, 2),
            dilationH=draw(1, 2),
            left=draw(0, 2),
            right=draw(0, 2),
            top=draw(0, 2),
            bottom=draw(0, 2),
            pad=draw(0, 9),
        )
        if draw(0, 3) == 0:  # a plain matrix, as many kernels load it
            f = (
                dict(height=1, width=draw(1, 60), pad=0)
                | dict.fromkeys(["strideW", "strideH", "filterW", "filterH", "dilationW", "dilationH"], 1)
                | dict.fromkeys(["left", "right", "top", "bottom"], 0)
            )
        assume((f["filterW"] - 1) * f["dilationW"] < f["width"] + f["left"] + f["right"])
        assume((f["filterH"] - 1) * f["dilationH"] < f["height"] + f["top"] + f["bottom"])
        f["channels"] = draw(0, 2) * c0 + data.draw(st.sampled_from([0, 0, 4, 8] if c0 > 8 else [0, 0, 4]))
        assume(f["channels"])
        image = picture(dtype, seed, 64)
        assume(f["height"] * f["width"] * f["channels"] <= image.size)
        f |= dict(
            turned=int(dtype != np.int8 and data.draw(st.booleans())),
            repeat=draw(1, 2),
            repeatStride=draw(0, 2),
            repeatMode=draw(0, 1),
        )
        columns = f["channels"] * f["filterW"] * f["filterH"]
        f |= dict(kStart=draw(0, (columns - 1) // c0) * c0, mStart=draw(0, 20), mExtent=draw(1, 40))
        f["kExtent"] = draw(1, 3) * c0
        turned = f["turned"] or side == 1
        used = -(-f["mExtent"] // 16) * (f["kExtent"] // c0) * f["repeat"] * (2 if turned and c0 == 8 else 1)
        assume(used <= FRACTALS)
        want = np.zeros((FRACTALS, image.shape[1]), dtype)
        golden.load_3d(want, image, f, side == 1)
        assert equal(loader(image, side, op=data.draw(st.sampled_from([2, 7])), **f), want)

    check()


@pytest.mark.parametrize("side", [0, 1, 2])
def test_fill(loader, side):
    @settings(max_examples=12)
    @given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 2), st.integers(0, 60), st.sampled_from([4, 8]))
    def check(times, blocks, gap, value, op):
        image = picture(np.float16, 1)
        want = (
            (image[:FRACTALS] if side == 2 else np.zeros((FRACTALS, 256), np.float16))
            .copy()
            .reshape(-1, 16 if side == 2 else 256)
        )
        for i in range(times):
            want[i * (blocks + gap) : i * (blocks + gap) + blocks] = value
        assert equal(
            loader(image, side, op=op, times=times, inner=blocks, gap=gap, pad=value), want.reshape(FRACTALS, 256)
        )

    check()


@pytest.mark.parametrize("dtype", TYPES)
def test_nd2nz(loader, dtype):
    c0 = 32 // np.dtype(dtype).itemsize

    @many
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        draw = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
        f = dict(nds=draw(1, 3), rows=draw(1, 20), cols=draw(1, 3 * c0 + 2), dstRow=draw(1, 2))
        f |= dict(srcRow=f["cols"] + draw(0, 9))
        f |= dict(
            dstCol=f["rows"] * f["dstRow"] + draw(0, 5), srcMatrix=draw(0, 1) * f["rows"] * f["srcRow"] + draw(0, 3)
        )
        lines = -(-f["cols"] // c0)
        f["dstMatrix"] = (f["dstCol"] * lines + draw(0, 2)) * c0
        image = picture(dtype, seed, 64)
        assume(
            (f["nds"] - 1) * f["srcMatrix"] + f["rows"] * f["srcRow"] <= image.size
            and f["nds"] * f["dstMatrix"] <= FRACTALS * 16 * c0
        )
        want = np.full(FRACTALS * 256, 7, np.int16).view(dtype)
        golden.nd2nz(want, image.ravel(), f, c0)
        assert equal(loader(image, 2, op=5, **f).ravel().view(np.uint8), want.view(np.uint8))

    check()


@pytest.mark.parametrize("dtype", TYPES)
def test_what_each_way_costs(loader, dtype):
    """Compared with tests/faults/pins.json."""
    image, walk = picture(dtype, 1, 64), dict(times=3, stride=1, gap=1)
    squares = dict(
        height=4,
        width=5,
        channels=32 // np.dtype(dtype).itemsize,
        mExtent=20,
        kExtent=32 // np.dtype(dtype).itemsize,
        filterW=2,
        filterH=1,
    )
    forms = {
        "2d": (0, walk),
        "transpose": (1, walk | dict(stride=2, gap=3)),
        "3d": (2, squares),
        "nd2nz": (5, dict(nds=2, rows=7, cols=20, srcRow=24, dstCol=9, dstRow=1, srcMatrix=170, dstMatrix=1024)),
    }
    for form, (op, fields) in forms.items():
        side = 2 if form == "nd2nz" else 0
        with pins.watch() as records:
            loader(image, side, op=op, **fields)
        pins.check(f"cube/{form} {np.dtype(dtype).name}", records[-1])
