"""Correct kernels beside the borders of the checks: borders.asc, borders_mixed.asc."""

from __future__ import annotations

import numpy as np
import pytest
from correct_kernels import F16, F32, I32, SCHEDULES, register, right_and_silent, values
from places import CORRECT as HERE
from same import equal

import labkit

CASES: list = []


def border(*sizes, **more):
    return register(CASES, *(sizes or ((),)), file="borders", **more)


def mixed(*sizes, **more):
    return register(CASES, *(sizes or ((),)), file="borders_mixed", tolerance=1e-3, **more)


def product(seed=0):
    """Two matrices of half precision and their product; small whole numbers, so that it is exact."""
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-4, 4, (32, 32)).astype(F16) for _ in range(2))
    return a.ravel(), b.ravel(), a.astype(F32) @ b.astype(F32)


@border(1, 4, 100)
def running_sum(k, n):
    x = values(64 * n, F32)
    return [x, None, n], [x.reshape(n, 64).sum(0)]


@border(1, 7)
def towards_front(k, n):
    x = values(128 * (n + 1), np.int16)
    return [x, None, n], [x[128:] + np.int16(1)]


@border()
def between(k):
    x = values(256, F32)
    z = x.copy().reshape(-1, 2, 8)
    z[:, 1] = z[:, 0] * 2
    return [x, None], [z]


@border()
def all_lanes(k):
    x = values(255 * 128, F16)
    return [x, None], [x + F16(1)]


@border()
def part_used(k):
    x = values(40, I32)
    return [x, None], [x + 1]


@border()
def lanes_in_turn(k):
    x = values(256, F16)
    return [x, None], [(x + np.tile([F16(1), F16(-1)], 128)) * F16(2)]


@border()
def padded_rows(k):
    x = values(40, F32)
    return [x, None], [x.reshape(4, 10).sum(1)]


@border(1, 16, 37)
def rounded_up(k, n):
    x = values(n, F16)
    return [x, None, n], [np.abs(x)]


@border()
def standing_still(k):
    x, w = values(256, F32), values(64, F32)
    return [x, w, None], [(x.reshape(4, 64) * w).reshape(32, 8) + w[:8]]


@border()
def gathered_within(k):
    x = values(64, F32)
    return [x, None], [x[::-1].copy()]


@border()
def bits_enough(k):
    x = values(64, F32)
    return [x, None], [np.where(x >= 0, x, F32(-1))]


@border()
def sorted_exactly(k):
    x = values(64, F32)
    return [x, None], [np.sort(x)[::-1].copy()]


@border()
def spread_exactly(k):
    x = values(16, F32)
    return [x, None], [np.repeat(x, 8)]


@border()
def widest(k):
    x = values(4095 * 16, F16)
    return [x, None], [np.abs(np.concatenate([x[:128], x[255 * 16 :][:128]]))]


@border()
def pairs_of_tail(k):
    x = values(80, F32)
    sums = x[0::2] + x[1::2]
    return [x, None], [np.concatenate([sums, sums[32:], np.full(8, 5, F32)])]


@border()
def nothing(k):
    return [values(64, F32), None, 0], [np.full(64, 3, F32)]


@border()
def by_address(k):
    x = values(64, I32)
    return [x, None], [x[::-1] + 1]


@border(1, 64, 201)
def counted(k, n):
    x = values(256, F32)
    return [x, None, n], [(x[:n] + 1) * 2]


@border()
def with_gaps(k):
    x = values(128, F16)
    return [x, None], [x * F16(3)]


@border()
def row_maxima(k):
    x = values(192, F32)
    return [x, None], [x.reshape(4, 48).max(1)]


@border()
def widened(k):
    x = values(128, F16).astype(F32)
    return [x.astype(F16), None], [x / 2 + x * F32(0.5)]


@border()
def used_twice(k):
    x = values(352, F16)
    return [x, None], [x]


@mixed((2, 5), (3, 7), (1, 4))
def ring(k, slots, steps):
    a, b, c = product()
    return [a, b, np.zeros(slots * 1024, F32), None, slots, steps], [np.tile(c.ravel(), steps)]


@mixed()
def in_step(k):
    a, b, c = product()
    return [a, b, None], [2 * c]


@mixed()
def exchange(k):
    x = values(1024, F32)
    return [x, np.zeros(1024, F32), None], [np.roll(x, 512) + 2]


@mixed()
def one_flag(k):
    a, b, c = product()
    return [a, b, np.zeros(3072, F32), None], [np.tile(c.ravel() + 1, 3)]


@mixed()
def by_way_of(k):
    _, b, _ = product()
    return [b, b, np.zeros(1024, F16), None], [np.full((32, 32), 0.5, F32) @ b.reshape(32, 32).astype(F32)]


@mixed()
def neighbours_met(k):
    a, b, c = product()
    return [a, b, np.zeros(1024, F32), None], [c + 1]


@mixed()
def by_the_cube(k):
    x = values(256, F32)
    return [x, np.zeros(256, F32), None], [np.roll(x, 128) + 2]


@mixed()
def side_by_side(k):
    x = values(32 * 20, F16)
    return [x, None], [x]


@mixed()
def quarter(k):
    a, b, _ = product()
    return [a, b, None], [(a.reshape(32, 32)[:16].astype(F32) @ b.reshape(32, 32)[:, :16].astype(F32))]


@mixed()
def fractals(k):
    a, b, c = product()
    return [a, b, None], [c.reshape(32, 2, 16).transpose(1, 0, 2)]


@mixed()
def two_matrices(k):
    a, b, c = product()
    return [a, b, None], [np.stack([c[:, :16], c[:, 16:]])]


@mixed()
def table_first(k):
    a, b, c = product()
    w = values(2048, F32)
    return [a, b, w, None], [c.ravel() + w[1024:]]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("golden, size, blocks, which, tolerance", CASES)
def test_right_and_silent(golden, size, blocks, which, tolerance, schedule):
    right_and_silent(golden, size, blocks, which, tolerance, schedule)


# ---- what does not fit the table


def test_vector_cores_add_in_any_order():
    import torch

    x, z = torch.arange(512, dtype=torch.float32).npu(), torch.zeros(256).npu()
    record = labkit.kernel(HERE / "borders_mixed.asc", entry="both_add")[1](x, z)
    assert record.ok and not record.findings, record.report()
    assert equal(z.cpu(), x.cpu()[:256] + x.cpu()[256:])


def test_rows_with_a_gap_between_them():
    import torch

    a, b, c = product()
    z = torch.full((5 * 24,), 7, dtype=torch.float16).npu()
    k = labkit.kernel(HERE / "borders_mixed.asc", entry="few_rows")
    record = k[1](torch.from_numpy(a).npu(), torch.from_numpy(b).npu(), z)
    assert record.ok and not record.findings, record.report()
    got = z.cpu().reshape(5, 24)
    assert equal(got[:, :16], torch.from_numpy(c[:5, :16]).half()) and bool((got[:4, 16:] == 7).all())


def test_neighbours_of_two_blocks():
    import torch

    a, b, c = (torch.from_numpy(m) for m in product())
    z = torch.empty(2048).npu()
    k = labkit.kernel(HERE / "borders_mixed.asc", entry="neighbours_met")
    record = k[2](a.npu(), b.npu(), torch.zeros(2048).npu(), z)
    assert record.ok and not record.findings, record.report()
    assert equal(z.cpu(), (c + 1).ravel().repeat(2))
