"""Products of a special shape against numpy and torch: one row, a thinned-out B, convolutions, queues."""

from __future__ import annotations

import cube_golden as golden
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from places import KERNELS
from same import equal  # noqa: E402

import labkit

HERE = KERNELS
FIELDS = "m n k height width channels filter stride pad dilation places".split()
some = settings(max_examples=15)


@pytest.fixture(scope="module", params=["program", "worst"])
def special(request):
    import torch

    k = labkit.kernel(HERE / "cube_special.asc", schedule=request.param)

    def special(op, a, b, extra, result, **fields):
        put = lambda x: torch.from_numpy(np.ascontiguousarray(x)).npu()  # noqa: E731
        c = put(result)
        record = k[1](
            put(a), put(b), put(extra), c, k.struct("Special", **dict.fromkeys(FIELDS, 0) | fields | dict(op=op))
        )
        assert record.finished and not record.findings, record.report()
        return c.cpu().numpy()

    return special


def halves(rng, *shape) -> np.ndarray:
    """Multiples of a quarter: every sum of their products is exact in fp32."""
    return (rng.integers(-8, 9, shape) / 4).astype(np.float16)


def test_one_row(special):
    @some
    @given(st.integers(1, 100), st.integers(1, 300), st.integers(0, 99))
    def check(n, k, seed):
        assume(-(-n // 16) * -(-k // 16) * 512 <= 65536)  # B lies in L0B as a whole
        rng = np.random.default_rng(seed)
        a, b = halves(rng, k), halves(rng, k, n)
        padded = np.zeros(-(-k // 256) * 256, np.float16)
        padded[:k] = a
        got = special(0, padded, golden.zn(b, 16), np.zeros(1), np.zeros(n, np.float32), m=1, n=n, k=k)
        assert equal(got, a.astype(np.float32) @ b.astype(np.float32))

    check()


def thinned(dense: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(half of B, index): of every four elements of a column the first two that are not zero, and where they lie."""
    k, n = dense.shape
    half, index = np.zeros((k // 2, n), np.int8), np.zeros((k // 2, n), np.uint8)
    for c in range(n):
        for g in range(0, k, 4):
            at = [i for i in range(4) if dense[g + i, c]][:2]
            if len(at) == 1:  # a lone element is the first one, but the last of the four can only be the second
                at = at + [None] if at[0] < 3 else [None] + at
            for slot, i in enumerate(at):
                if i is not None:
                    half[g // 2 + slot, c], index[g // 2 + slot, c] = dense[g + i, c], i - slot
    return half, index


def test_sparse(special):
    @some
    @given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 3), st.integers(0, 99))
    def check(m, n, k64, seed):
        rng = np.random.default_rng(seed)
        k = 64 * k64
        a, dense = rng.integers(-128, 128, (m, k)).astype(np.int8), np.zeros((k, n), np.int8)
        for c in range(n):
            for g in range(0, k, 4):
                dense[g + rng.choice(4, 2, replace=False), c] = rng.integers(-128, 128, 2) * rng.integers(0, 2, 2)
        half, index = thinned(dense)
        two_bits = golden.zn(index, 32).reshape(-1, 4)
        packed = (two_bits[:, 0] | two_bits[:, 1] << 2 | two_bits[:, 2] << 4 | two_bits[:, 3] << 6).astype(np.uint8)
        got = special(1, golden.zz(a, 32), golden.zn(half, 32), packed, np.zeros((m, n), np.int32), m=m, n=n, k=k)
        assert equal(got, a.astype(np.int32) @ dense.astype(np.int32))

    check()


def test_convolution(special):
    import torch

    @some
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        draw = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
        h, w, n, filt, stride, pad, dilation = (
            draw(1, 9),
            draw(1, 9),
            draw(1, 32),
            draw(1, 3),
            draw(1, 2),
            draw(0, 2),
            draw(1, 2),
        )
        channels = 16 * draw(1, 2)
        reach = (filt - 1) * dilation + 1
        assume(h + 2 * pad >= reach and w + 2 * pad >= reach)
        out_h, out_w = (h + 2 * pad - reach) // stride + 1, (w + 2 * pad - reach) // stride + 1
        places, depth = out_h * out_w, channels * filt * filt
        assume(places > 1 and -(-places // 16) * 16 * depth <= 32768 and depth * -(-n // 16) * 16 <= 32768)
        rng = np.random.default_rng(seed)
        image, filters = halves(rng, 1, channels, h, w), halves(rng, n, channels, filt, filt)
        nc1hwc0 = image.reshape(channels // 16, 16, h, w).transpose(0, 2, 3, 1)
        down = filters.reshape(n, channels // 16, 16, filt, filt).transpose(1, 3, 4, 2, 0).reshape(depth, n)
        got = special(
            2,
            nc1hwc0,
            golden.zn(down, 16),
            np.zeros(1),
            np.zeros((places, n), np.float32),
            n=n,
            height=h,
            width=w,
            channels=channels,
            filter=filt,
            stride=stride,
            pad=pad,
            dilation=dilation,
            places=places,
        )
        want = torch.nn.functional.conv2d(
            torch.from_numpy(image).float(),
            torch.from_numpy(filters).float(),
            stride=stride,
            padding=pad,
            dilation=dilation,
        )
        assert equal(got, want[0].permute(1, 2, 0).reshape(places, n).numpy())

    check()


def test_queues(special):
    @some
    @given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 6), st.integers(0, 99))
    def check(m, n, k, seed):
        m, n, k = 16 * m, 16 * n, 16 * k
        rng = np.random.default_rng(seed)
        a, b, bias = halves(rng, m, k), halves(rng, k, n), halves(rng, n).astype(np.float32)
        got = special(3, a, b, bias, np.zeros((m, n), np.float32), m=m, n=n, k=k)
        assert equal(got, a.astype(np.float32) @ b.astype(np.float32) + bias)

    check()
