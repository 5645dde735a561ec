"""Correct kernels in every style: no finding at all, and the right numbers, for even sizes and tails.

tests/faults/correct/*.asc are legal for CANN's own headers as well. A golden is written in numpy from what the kernel's
first lines promise; where the unit rounds once per instruction the numbers must agree to the last bit.
"""

from __future__ import annotations

import ctypes
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from correct_kernels import F16, F32, I8, I32, SCHEDULES, register, right_and_silent, values, zeros
from places import CORRECT as HERE
from same import equal
from twin_launch import build_all

import labkit

CASES: list = []
case = partial(register, CASES)


@pytest.fixture(scope="module", autouse=True)
def built():
    build_all(sorted(HERE.glob("*.asc")))


# ---- the goldens, one a kernel


@case(
    *[(32, 80, 64, 0), (32, 32, 64, 1), (144, 16, 64, 1), (32, 32, 64, 2), (32, 32, 64, 3), (32, 32, 64, 4)],
    *[(32, 32, 64, 5), (32, 32, 64, 6)],
)
def small_sums(k, m, n, depth, way):
    a, b = (values(rows * columns, F16, -2, 2).reshape(rows, columns) for rows, columns in ((m, depth), (depth, n)))
    steps = np.stack([a[:, i : i + 16].astype(F32) @ b[i : i + 16].astype(F32) for i in range(0, depth, 16)])
    whole = steps.sum(0)
    c = {3: steps, 4: steps[-1], 5: np.stack([whole, whole]), 6: steps.cumsum(0)}.get(way, whole)
    return [a.ravel(), b.ravel(), None, m, n, depth, way], [c.ravel()]


@case(16, 1000, 1024, 3001, 4099, blocks=(1, 3, 8))
def tque_single(k, n):
    x, y = values(n, F32), values(n + 1, F32)[:n]
    return [x, y, None, n], [x + y]


@case(16, 128, 1008, 4096, blocks=(1, 4))
def tque_double(k, n):
    x, y = values(n, F16), values(n + 1, F16)[:n]
    return [x, y, None, n], [x + y]


@case(1, 2, 3, 17)
def depth_two(k, tiles):
    x = values(64 * tiles, F32)
    return [x, None, tiles], [x + x]


@case(5, 512, 1300, blocks=(1, 2), tolerance=1e-3)
def tbuf_scratch(k, n):
    x = values(n, F16)
    f = x.astype(F32)
    return [x, None, n], [(f / (1 + np.exp(-f))).astype(F16)]


@case(7, 256, 2048, 5003, blocks=(1, 5))
def static_pingpong(k, n):
    x = values(n, F32)
    return [x, None, n], [x * x]


@case(8, 128, 1000)
def local_allocator(k, n):
    x, y = values(n, F32), values(n + 1, F32)[:n]
    return [x, y, None, 0.5, n], [F32(0.5) * x + y]


@case(3, 128, 777, blocks=(1, 2))
def in_place(k, n):
    x = values(n, F32)
    b = (x + F32(1)) * x
    return [x, None, n], [np.maximum(b * b, F32(0.5))]


@case(1, 33, 256, 5000, blocks=(1, 6))
def copy_through(k, n):
    x = values(n, I8, -16, 15)
    return [x, None, n], [x]


@case((1, 1), (3, 5), (17, 8), (40, 13), (33, 100))
def pad_rows(k, rows, columns):
    x, b = values(rows * columns, F32).reshape(rows, columns), values(columns, F32)
    return [x.ravel(), b, None, rows, columns], [x + b]


@case((5, 2, 64), (13, 4, 8), (3, 3, 24), blocks="cores")
def uneven_cores(k, rows, cores, columns):
    x = values(rows * columns, I32)
    tiling = k.struct(
        "RowTiling", formerNum=rows % cores, formerRows=rows // cores + 1, tailRows=rows // cores, columns=columns
    )
    return [x, None, tiling], [-x]


@case((5, 3), (64, 8), (100, 20), blocks="cores")
def sum_of_all(k, share, cores):
    x = np.arange(share * cores, dtype=F32) % 7
    return [x, None, None, share], [x.reshape(cores, share).sum(1), x.sum(keepdims=True)]


@case((64, 20), (1000, 3))
def low_bits(k, n, bits):
    x = values(n, I32, -(2**27), 2**27)
    return [x, None, n, bits], [x & ((1 << bits) - 1)]


@case(1, 100, 256, 999)
def tiling_gm(k, n):
    x = values(n, F32)
    return [x, None, k.struct("ScaleTiling", length=n, factor=1.25, tile=64)], [x * F32(1.25)]


@case(1, 5, 64)
def mask_repeat(k, rows):
    x, w = values(rows * 96, F16).reshape(rows, 96), values(96, F16)
    z = (x.astype(F32) * w.astype(F32)).astype(F16)
    z[:, 0::2] += F16(1)
    z[:, :64] = np.maximum(z[:, :64], F16(0))
    return [x.ravel(), w, None, rows], [z]


@case(1, 3)
def masked_blocks(k, rows):
    x = values(rows * 64, F32).reshape(rows, 64)
    mine = np.r_[0:8, 56:64]
    z = x.copy()
    z[:, mine] = F32(1) + (x[:, mine] + F32(2))
    return [x.ravel(), None, rows], [z]


@case(8, 64, 104)
def gather_counted(k, n):
    x, to = values(n, F32), np.arange(n)[::-1].copy()
    return [x, (to * 4).astype(I32), None, n], [x[to]]


@case(1, 128, 300)
def scalar_loop(k, n):
    x, w = values(n, I32), values(4, I32)
    return [x, w, None, n], [np.cumsum(x * w[np.arange(n) % 4]).astype(I32)]


@case(1, 2, 9)
def gm_scratch(k, tiles):
    x = values(64 * tiles, F32).reshape(tiles, 64)
    return [x.ravel(), None, None, tiles], [x + 1, x[::-1] + 2]


@case(16, 128, 1040)
def barrier_all(k, n):
    x, y = values(n, F16), values(n + 1, F16)[:n]
    return [x, y, None, n], [np.maximum(x, y) - np.minimum(x, y)]


@case((1, 7), (3, 64), (5, 100), (4, 1000))
def reduce_rows(k, rows, columns):
    x = values(rows * columns, F32).reshape(rows, columns)
    z = np.zeros((rows, 4), F32)
    z[:, 0] = z[:, 1] = x.sum(1)  # exact: the values are multiples of 1/64
    z[:, 2], z[:, 3] = x.max(1), x.argmax(1).astype(np.uint32).view(F32)
    return [x.ravel(), None, rows, columns], [z]


@case((1, 8), (7, 33), (5, 1000), blocks=(1, 3), tolerance=1e-6)
def softmax(k, rows, columns):
    x = values(rows * columns, F32).reshape(rows, columns)
    e = np.exp(x - x.max(1, keepdims=True))
    return [x.ravel(), None, rows, columns], [e / e.sum(1, keepdims=True)]


@case(1, 256, 700)
def cast_chain(k, n):
    x = values(n, I8, -16, 15)
    f = x.astype(F32) * F32(1.5)
    return [x, None, 1.5, n], [np.clip(np.trunc(f + np.copysign(F32(0.5), f)), -128, 127).astype(I8)]


def to_bf16(x):
    bits = x.astype(F32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


@case(1, 100, 256, 1000)
def cast_tail(k, n):
    x = to_bf16(values(n, F32))
    wide = (x.astype(np.uint32) << 16).view(F32)
    return [x, None, n], [to_bf16(wide * F32(1.5))]


@case(1, 100, 128, 513)
def compare_select(k, n):
    x, y = values(n, F16), values(n + 1, F16)[:n]
    c = np.where(x > y, x, F16(-3))
    return [x, y, None, n], [np.where(c <= 2, c, y)]


@case(64, 4096)
def two_phases(k, n):
    x = values(n, F16, -4, 4)
    return [x, None, n], [x + F16(4)]


@case(1, 3, 100)
def strided_copy(k, rows):
    x = values(rows * 128, F16).reshape(rows, 8, 16)
    return [x.ravel(), None, rows], [x[:, [6, 7, 4, 5, 2, 3, 0, 1]]]


@case(1, 9, 100)
def columns_at_once(k, rows):
    x = values(rows * 16, F32)
    return [x, None, rows], [x * 2]


@case(1, 2, 30)
def block_reduce(k, repeats):
    x = values(repeats * 128, F16)
    rows = x.reshape(repeats, 128)
    whole = np.stack([rows.max(1), rows.argmax(1).astype(np.uint16).view(F16)], 1)
    return [x, None, None, None, repeats], [x.reshape(-1, 16).max(1), whole, x[0::2] + x[1::2]]


@case(1, 2, 30)
def sums_in_one_place(k, repeats):
    x = np.floor(values(repeats * 64, F32, -8, 8))
    return [x, None, None, repeats], [x.reshape(-1, 64).sum(0), 2 * x.reshape(-1, 64).sum(0)]


@case(128, 1024)
def shift_left(k, n):
    x = values(n, F32)
    return [x, None, n], [np.concatenate([x[64:] + 1, x[n - 64 :]])]


@case(64, 640, entry="scale<float>")
def templated(k, n):
    x = values(n, F32)
    return [x, None, n], [x + x]


@case(1, 3, blocks="blocks")
def print_dump(k, blocks):
    x = values(16 * blocks, F16)
    return [x, None, 16 * blocks], [np.abs(x)]


# ---- at the borders of the checks for caches, meetings, orders of copies, pointers, stacks and flags


@case((8, 1), (16, 4), (64, 8), blocks="cores")
def soft_meeting(k, share, cores):
    x = values(share * cores, F32).reshape(cores, share)
    return [x.ravel(), None, None, zeros(16 * cores), share], [np.roll(x, -2, 0), np.roll(x, -1, 0)]


@case(1, 3, 8, blocks="cores")
def soft_meeting_zeroed(k, cores):
    mine = np.repeat(np.arange(cores, dtype=I32), 16)
    return [None, None, values(8 * cores, I32)], [mine, np.roll(mine, -16)]


@case(1, 2, 7, blocks="cores")
def lines_apart(k, cores):
    z = zeros((cores, 16))
    z[:, 0] = sum(i + 1 + 10 * i for i in range(cores))
    return [zeros(16 * cores), (zeros(16 * cores), z)], []


@case(64, 320)
def cleaned_whole(k, n):
    x = values(n, F16)
    z = x.copy()
    z[0::3], z[1::3] = -1, 2
    return [x, None, n], [z]


@case(12)
def cleaned_halves(k, n):
    return [values(n, np.int64), None], [np.arange(8, dtype=np.int64) ** 2]


@case(1, 5, blocks="cores")
def past_the_cache(k, cores):
    return [zeros(cores), None], [np.array([sum(range(100, 100 + cores))], I32)]


@case((64, 1), (32, 4), blocks="cores")
def polled_marks(k, share, cores):
    x = values(share * cores, F32)
    return [x, zeros(share * cores, F32), zeros(16 * cores), None, share], [x * 2]


@case(1, 16)
def combed_copies(k, rows):
    x, y = values(rows * 16, F16).reshape(rows, 16), values(rows * 32, F16).reshape(rows, 32)
    return [x.ravel(), y.ravel(), None, rows], [np.hstack([y[:, 16:], y[:, :16], x])]


@case(1, 7)
def copies_unread(k, rows):
    x = values(rows * 64, F32)
    return [x, None, rows], [x[:64]]


@case(1, 5)
def overlap_in_turn(k, tiles):
    x, y = values(64, F32), values(8, F32)
    a, z = x.copy(), np.zeros(tiles * 48 + 16, F32)
    a[24:32] = y
    for i in range(tiles):
        z[i * 48 : i * 48 + 64] = a + F32(i)
    return [x, y, None, tiles], [z]


@case((1, 1), (5, 4), blocks="cores")
def sums_at_once(k, rows, cores):
    x = values(rows * cores * 32, I32)
    return [x, (zeros(32), x.reshape(-1, 32).sum(0, dtype=I32)), rows], []


@case(100, 4999)
def const_tables(k, n):
    x, i = values(n, F32), np.arange(n)
    w = np.array([0.5, 1, 1.5, 2], F32)[i % 4]
    scratch = np.zeros(n, F32)
    scratch[(i * 7 + 1) % n] = x * w
    return [x, None, n], [scratch * np.where(i % 2, F32(-1), F32(1)) + F32(1.5)]


@case(1, 6)
def flags_beside_queue(k, tiles):
    x, y = values(tiles * 64, F16), values(64, F16)
    return [x, y, None, tiles], [x.reshape(tiles, 64) + y]


@case(1, 3, blocks="blocks")
def fifteen_ahead(k, blocks):
    x = values(64 * blocks, F32)
    return [x, None], [x]


@case(1, 77)
def pointers_inside(k, n):
    x, i = values(n, F32), np.arange(n) % 3
    steps = np.zeros((3, 2), F32)
    steps[:, 0], steps[:, 1] = [1, 2, 0.5], np.array([4, -1, 0], I32).view(F32)
    return [x, steps.ravel(), None, n, 3], [x * steps[i, 0] + np.array([4, -1, 0], F32)[i] + x]


@case(1, 5, 9, 16)
def masked_bits(k, rows):
    x = np.arange(rows * 16, dtype=np.int16) * 3 + 1
    diagonal = np.zeros(16, np.int16)
    diagonal[:rows] = 2 * np.diag(x.reshape(rows, 16))
    return [x, None, rows], [diagonal]


@case(1, 3)
def pointer_and_value(k, tiles):
    x = values(64 * tiles, F32)
    rows = x.reshape(tiles, 64)
    z = rows * (rows[:, :1] + F32(1))
    z[:, -1] += F32(1)
    return [x, None, tiles], [z.ravel()]


@case(1, 7, blocks="cores")
def line_by_copies(k, cores):
    x = values(10 * cores, I8, -16, 15)
    return [x, None], [x]


@case(1, 4, blocks="cores")
def in_turn(k, cores):
    x = values(16 * cores, F32)
    return [x, (zeros(16, F32), x.reshape(-1, 16).sum(0)), zeros(8 * cores), zeros(8 * cores + 8)], []


@case(1, 2, 9)
def wide_stores(k, rows):
    x = values(rows * 8, F32)
    return [x, None, rows], [x]


@case(1, 2, 9)
def early_and_right(k, tiles):
    x = values(tiles * 64, I32)
    return [x, None, tiles], [x + np.repeat(np.arange(tiles, dtype=I32), 64)]


@case(32)
def scalar_between(k, n):
    return [zeros(n), (zeros(16), np.eye(1, 16, dtype=I32)[0] * 41)], []


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("golden, size, blocks, which, tolerance", CASES)
def test_right_and_silent(golden, size, blocks, which, tolerance, schedule):
    right_and_silent(golden, size, blocks, which, tolerance, schedule)


# ---- what does not fit the table


def test_templates_of_other_types():
    import torch

    x = torch.arange(-64, 64)
    for name, dtype in (("half", torch.float16), ("int32_t", torch.int32)):
        k = labkit.kernel(HERE / "templated.asc", entry=f"scale<{name}>")
        a = x.to(dtype).npu()
        z = torch.empty_like(a)
        assert k[1](a, z, 128).ok
        assert equal(z.cpu(), (x * 2).to(dtype))


@pytest.mark.parametrize("threads", ["1", "2"])
def test_prints_in_the_order_of_the_blocks(threads, monkeypatch):
    import torch

    monkeypatch.setenv("LABKIT_THREADS", threads)
    x = torch.arange(-24, 24, dtype=torch.float16)
    record = labkit.kernel(HERE / "print_dump.asc")[3](x.npu(), torch.empty_like(x).npu(), 48)
    lines = record.output.splitlines()
    for block in range(3):
        mine = [line for line in lines if line.startswith(f"[block {block}]")]
        first = float(x[16 * block])
        assert mine[0].endswith(f"n 48 first {first:f} of 3")
        assert "desc=7" in mine[1] and "half[4]" in mine[1]
        assert f"{first:g} {first + 1:g} {first + 2:g} {first + 3:g}" in mine[2]
    assert [line[7] for line in lines if line.startswith("[block")] == sorted(
        line[7] for line in lines if line.startswith("[block")
    )


def test_in_place_on_the_same_tensor():
    import torch

    x = torch.arange(-100, 100, dtype=torch.float32) / 8
    z = x.npu()
    record = labkit.kernel(HERE / "in_place.asc")[1](z, z, 200)
    assert record.ok and not record.findings
    b = (x + 1) * x
    assert equal(z.cpu(), torch.clamp(b * b, min=0.5))


def test_arguments_that_are_views_of_one_tensor():
    """A row of a matrix, and the matrix itself, in one launch: each access belongs to the argument it came from."""
    import torch

    whole = torch.arange(2048, dtype=torch.float32).npu()
    k = labkit.kernel(HERE / "tque_single.asc")
    for x, y in ((whole, whole[:1000]), (whole[:1000], whole), (whole[500:1500], whole)):
        n = min(len(x), len(y))
        z = torch.empty(n).npu()
        record = k[2](x, y, z, n)
        assert not record.findings, record.report()
        assert equal(z.cpu(), x.cpu()[:n] + y.cpu()[:n])


def test_checks_off_gives_the_same_numbers():
    import torch

    x = torch.from_numpy(values(3000, F32)).npu()
    got = []
    for checks in (True, False):
        z = torch.empty_like(x)
        record = labkit.kernel(HERE / "static_pingpong.asc", checks=checks, l2="cold")[3](x, z, 3000)
        got.append((z.cpu(), record.time_us))
    assert equal(got[0][0], got[1][0]) and got[0][1] == got[1][1]


def test_struct_sizes_reach_the_kernel():
    k = labkit.kernel(HERE / "tiling_gm.asc")
    assert ctypes.sizeof(k.struct("ScaleTiling", length=1, factor=1.0, tile=64)) == 12


def test_every_kernel_is_launched():
    """A file without a @case would be built, and nothing more."""
    tests = "".join(p.read_text(encoding="utf-8") for p in Path(__file__).parent.glob("*.py"))
    assert not [f.name for f in HERE.glob("*.asc") if not re.search(rf"\b{f.stem}\b", tests)]
