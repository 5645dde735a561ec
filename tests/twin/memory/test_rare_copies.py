"""The rarer forms of DataCopy byte by byte: slices of up to eight dimensions, NZ to rows, enhanced parameters, padding
by register and of 64-bit types."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from same import equal  # noqa: E402
from twin_image import BYTES, HERE, MEMORY, Shared

import labkit

few = settings(max_examples=25, deadline=None)


@pytest.fixture(scope="module")
def moves():
    k = labkit.kernel(HERE / "moves.asc", entry="moves")
    image, out, memory = Shared(BYTES), Shared(BYTES), Shared(MEMORY)

    def run(start, around, **move):
        image.bytes[:], memory.bytes[:], out.bytes[:] = start, around, 0x5A
        fields = dict(
            dims=1,
            form=0,
            gm=[0] * 40,
            ub=[0] * 40,
            blocks=1,
            length=0,
            srcGap=0,
            dstGap=0,
            pad=0,
            left=0,
            right=0,
            value=0,
        )
        record = k[1](image.tensor, out.tensor, memory.tensor, k.struct("Move", bytes=BYTES, **(fields | move)))
        assert record.finished and not record.findings, record.report()
        return out.bytes.copy(), memory.bytes.copy()

    return run


def both():
    rng = np.random.default_rng(5)
    return rng.integers(0, 256, BYTES).astype(np.uint8), rng.integers(0, 256, MEMORY).astype(np.uint8)


# ---- slices


@st.composite
def slices(draw):
    """(GM slice, UB slice, bytes of an element): the same rows on both sides, each with gaps of its own."""
    size = draw(st.sampled_from([1, 2, 4]))
    per, dims = 32 // size, draw(st.integers(1, 4))
    burst, pieces = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    start, gap = draw(st.integers(0, 9)), draw(st.integers(0, 9))
    end = start + pieces * burst * per + (pieces - 1) * gap - 1
    gm = [[start, end, gap, burst, end + 1 + draw(st.integers(0, 5))]]
    ub_gap = draw(st.integers(0, 2)) * per
    ub_start = draw(st.integers(0, 2)) * per
    ub_end = ub_start + pieces * burst * per + (pieces - 1) * ub_gap - 1
    ub = [[ub_start, ub_end, ub_gap, burst, -(-(ub_end + 1) // per) * per]]
    for _ in range(dims - 1):
        count = draw(st.integers(1, 2))
        for side in (gm, ub):
            first, step = draw(st.integers(0, 1)), draw(st.integers(0, 1))
            last = first + (count - 1) * (step + 1)
            side.append([first, last, step, 1, last + 1 + draw(st.integers(0, 1))])
    return gm, ub, size


def places(info: list[list[int]], size: int) -> list[int]:
    """Element offsets of a slice in the order in which they are taken, one entry a burst."""
    per = 32 // size
    start, end, gap, burst, _ = info[0]
    pieces = (end - start + 1 + gap) // (burst * per + gap)
    at = [start + i * (burst * per + gap) for i in range(pieces)]
    stride = 1
    for (_, _, _, _, shape), (first, last, step, _, _) in zip(info, info[1:]):
        stride *= shape
        at = [a + k * stride for k in range(first, last + 1, step + 1) for a in at]
    return at


@pytest.mark.parametrize("kind", [0, 1])
def test_slices(moves, kind):
    @few
    @given(slices(), st.integers(0, 1))
    def check(case, form):
        gm, ub, size = case
        far, near = places(gm, size), places(ub, size)
        length = gm[0][3] * 32
        if max(far) * size + length > MEMORY - 64 or max(near) * size + length > BYTES - 64:
            return
        image, memory = both()
        want_image, want_memory = image.copy(), memory.copy()
        for a, b in zip(far, near):
            if kind == 0:
                want_image[32 + b * size : 32 + b * size + length] = memory[
                    7 * size + a * size : 7 * size + a * size + length
                ]
            else:
                want_memory[7 * size + a * size : 7 * size + a * size + length] = image[
                    32 + b * size : 32 + b * size + length
                ]
        flat = [sum(side, []) + [0] * (40 - 5 * len(side)) for side in (gm, ub)]
        got_image, got_memory = moves(
            image,
            memory,
            kind=kind,
            size=size,
            local=32,
            dims=len(gm),
            form=form,
            gm=flat[0],
            ub=flat[1],
            **{"global": 7 * size},
        )
        assert equal(got_memory, want_memory) and np.array_equal(got_image, want_image)

    check()


def test_a_slice_of_eight_dimensions(moves):
    """Two rows in each of seven dimensions: 128 bursts."""
    image, memory = both()
    gm = [[0, 7, 0, 1, 8]] + [[0, 1, 0, 1, 2]] * 7
    ub = [[0, 7, 0, 1, 8]] + [[0, 1, 0, 1, 2]] * 7
    flat = sum(gm, []), sum(ub, [])
    got, _ = moves(image, memory, kind=0, size=4, local=0, dims=8, gm=flat[0], ub=flat[1], **{"global": 64})
    assert equal(got[:4096], memory[64 : 64 + 4096]) and np.array_equal(got[4096:], image[4096:])


# ---- the other forms


@pytest.mark.parametrize("kind", [2, 3, 4])
def test_enhanced_parameters_change_nothing(moves, kind):
    @few
    @given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 3), st.integers(0, 3))
    def check(blocks, length, src, dst):
        image, memory = both()
        want_image, want_memory = image.copy(), memory.copy()
        for b in range(blocks):
            s, d = b * 32 * (length + src), b * 32 * (length + dst)
            n = 32 * length
            if kind == 2:
                want_image[64 + d : 64 + d + n] = memory[5 + s : 5 + s + n]
            elif kind == 3:
                want_memory[5 + d : 5 + d + n] = image[64 + s : 64 + s + n]
            else:
                want_image[64 + d : 64 + d + n] = image[64 + 4096 + s : 64 + 4096 + s + n]
        got_image, got_memory = moves(
            image,
            memory,
            kind=kind,
            size=1,
            local=64,
            blocks=blocks,
            length=length,
            srcGap=src,
            dstGap=dst,
            **{"global": 5},
        )
        assert equal(got_image, want_image) and np.array_equal(got_memory, want_memory)

    check()


@pytest.mark.parametrize("size", [1, 2, 4])
def test_pad_value_of_the_register(moves, size):
    """isPad false: what SetPadValue set stands left and right of each block, and up to 32 bytes."""

    @few
    @given(
        st.integers(1, 4),
        st.integers(1, 40),
        st.integers(0, 32 // size),
        st.integers(0, 32 // size),
        st.integers(0, 2**32 - 1),
    )
    def check(blocks, count, left, right, value):
        if not left and not right:
            left = 1
        image, memory = both()
        want = image.copy()
        piece = -(-(left + count + right) * size // 32) * 32
        fill = np.frombuffer(value.to_bytes(8, "little")[:size] * (piece // size), np.uint8)
        for b in range(blocks):
            want[b * piece : (b + 1) * piece] = fill
            want[b * piece + left * size : b * piece + (left + count) * size] = memory[
                3 + b * count * size : 3 + (b + 1) * count * size
            ]
        got, _ = moves(
            image,
            memory,
            kind=5,
            size=size,
            local=0,
            blocks=blocks,
            length=count * size,
            left=left,
            right=right,
            value=value,
            **{"global": 3},
        )
        assert equal(got, want)

    check()


@few
@given(st.integers(1, 5), st.integers(1, 9), st.integers(0, 4), st.integers(0, 4), st.integers(0, 5), st.integers(0, 3))
def test_64_bit_elements(moves, blocks, count, left, right, gm_gap, ub_gap):
    image, memory = both()
    want = image.copy()
    piece = -(-(left + count + right) * 8 // 32) * 32
    tail = piece - (left + count + right) * 8
    for b in range(blocks):
        at, data = b * (piece + 32 * ub_gap), memory[b * (8 * count + gm_gap) :][: 8 * count]
        want[at : at + piece] = 0
        if not left and not right and tail:  # such a block ends in copies of its first 32 bits
            want[at : at + piece] = np.resize(data[:4], piece)
        want[at + 8 * left : at + 8 * (left + count)] = data
    got, _ = moves(
        image,
        memory,
        kind=6,
        size=4,
        local=0,
        blocks=blocks,
        length=8 * count,
        srcGap=gm_gap,
        dstGap=ub_gap,
        left=left,
        right=right,
        **{"global": 0},
    )
    assert equal(got, want)
    _, back = moves(
        image,
        memory,
        kind=7,
        size=4,
        local=0,
        blocks=blocks,
        length=8 * count,
        srcGap=ub_gap,
        dstGap=gm_gap,
        **{"global": 0},
    )
    want = memory.copy()
    piece = -(-count * 8 // 32) * 32 + 32 * ub_gap
    for b in range(blocks):
        want[b * (8 * count + gm_gap) :][: 8 * count] = image[b * piece :][: 8 * count]
    assert equal(back, want)


@pytest.mark.parametrize("size", [2, 4])
def test_nz_to_rows(size):
    import torch

    k = labkit.kernel(HERE / "moves.asc", entry="nz2nd")
    dtype = np.float16 if size == 2 else np.float32

    @few
    @given(*(st.integers(*ends) for ends in ((1, 3), (1, 20), (1, 3), (0, 4), (0, 9), (0, 15))))
    def check(matrices, rows, columns, spare, gap, missing):  # missing: columns of the last 16
        src_n = rows + spare  # rows between two columns of 16
        src_matrix = -(-src_n * columns // 16)  # in 16 x 16 elements
        width = columns * 16 - missing
        dst_d, dst_matrix = matrices * width + gap, width
        x = np.arange(matrices * src_matrix * 256, dtype=np.float32).astype(dtype)
        want = np.full(rows * dst_d, -1, dtype)
        for m in range(matrices):
            for c in range(columns):
                for r in range(rows):
                    at, wide = m * dst_matrix + r * dst_d + c * 16, min(16, width - c * 16)
                    want[at : at + wide] = x[m * src_matrix * 256 + c * src_n * 16 + r * 16 :][:wide]
        z = torch.full((rows * dst_d,), -1, dtype=getattr(torch, np.dtype(dtype).name)).npu()
        record = k[1](
            torch.from_numpy(x).npu(), z, size, x.nbytes, matrices, rows, width, src_matrix, src_n, dst_d, dst_matrix
        )
        assert record.ok and not record.findings, record.report()
        assert equal(z.cpu().numpy(), want)

    check()


def test_nz_to_more_rows_than_a_copy_takes():
    import torch

    rows, step = 5000, 20  # documented: up to 8192
    x = torch.arange(rows * 16, dtype=torch.int32).remainder(1000).half()
    z = torch.full((rows * step,), -1.0, dtype=torch.float16).npu()
    k = labkit.kernel(HERE / "moves.asc", entry="nz2nd")
    record = k[1](x.npu(), z, 2, x.nbytes, 1, rows, 16, 1, rows, step, 1)
    assert record.ok and not record.findings, record.report()
    want = torch.full((rows, step), -1.0, dtype=torch.float16)
    want[:, :16] = x.view(rows, 16)
    assert equal(z.cpu(), want.flatten())
