"""Correct kernels beside the borders of the checks of copies and flags: borders_copies.asc."""

from __future__ import annotations

import numpy as np
import pytest
from correct_kernels import F32, I8, I32, SCHEDULES, register, right_and_silent, values
from places import CORRECT as HERE
from same import equal

import labkit

CASES: list = []


def border(*sizes, **more):
    return register(CASES, *(sizes or ((),)), file="borders_copies", **more)


@border(10, 64, 70, 192)
def tail_or_none(k, n):
    x = values(n, I32)
    return [x, None, n], [x + 1]


@border(24, 60, 72, 96, blocks=(4,))
def empty_shares(k, n):
    x = values(n, F32)
    return [x, None, n], [x]


@border(0, 64)
def zeros_instead(k, bias):
    x = values(128, F32)
    return [x, None, bias], [x[:64] + x[64:] if bias else x[:64]]


@border()
def whole_elements(k):
    x = values(25, I8)
    return [x, None], [x]


@border()
def element_addresses(k):
    x = values(49, np.int16)
    first = x[17:18].view(np.uint8)
    rest = np.frombuffer(first.tobytes() + x[17:49].tobytes() + first[:1].tobytes() + first.tobytes() + b"\0", np.int16)
    return [x, (np.zeros(35, np.int16), rest)], []


@border()
def raw_lengths(k):
    x = values(48000, F32)
    return [x, None], [x]


@border()
def one_allocator(k):
    x = values(64, F32).reshape(8, 8)
    return [x.ravel(), None], [np.stack([x.mean(1), x[:, 0]])]


@border(2, 6, blocks="cores")
def free_flags(k, cores):
    x = values(8 * cores, F32).reshape(cores, 8)
    return [x.ravel(), None, cores], [np.stack([np.roll(x, -turn, 0) for turn in range(5)])]


@border(blocks=(3,))
def side_by_side(k):
    return [None], [np.arange(3, dtype=F32).repeat(128)]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("golden, size, blocks, which, tolerance", CASES)
def test_right_and_silent(golden, size, blocks, which, tolerance, schedule):
    right_and_silent(golden, size, blocks, which, tolerance, schedule)


def test_the_hundred_thousandth_buffer_costs_what_the_first_does():
    import torch

    x = torch.arange(64, dtype=torch.float32).npu()
    z = torch.empty(64).npu()
    record = labkit.kernel(HERE / "borders_copies.asc", entry="many_resets", timeout=10)[1](x, z, 25000)
    assert record.finished and not record.findings, record.report()
    assert equal(z.cpu(), x.cpu() + 25000)
