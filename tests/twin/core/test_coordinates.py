"""Crd2Idx and Layout: an axis of several parts counts through its first part fastest."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import labkit


@pytest.mark.parametrize("a, b, c", [(0, 0, 0), (1, 2, 3), (2, 3, 4), (2, 1, 0), (1, 3, 2)])
def test_positions(a, b, c):
    out = torch.zeros(8, dtype=torch.int64).npu()
    labkit.kernel(Path(__file__).parent / "coordinates.asc")[1](out, a, b, c)
    plain = 20 * a + 5 * b + c
    parts = 4 * (a % 2) + 40 * (b % 3) + (c % 4) + 8 * a
    flat = 4 * (a % 2) + 40 * (a // 2) + (b % 4) + 8 * (b // 4)
    assert out.cpu().tolist()[:5] == [plain, plain, parts, flat, 4 * 1 + 40 * 2 + 3 + 8 * 4]
