"""Correct kernels beside the borders whose results do not fit the table of test_correct_kernels.py."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from places import CORRECT as HERE  # noqa: E402
from same import equal  # noqa: E402
from test_correct_kernels import product  # noqa: E402

import labkit  # noqa: E402


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
