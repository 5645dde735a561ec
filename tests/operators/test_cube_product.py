"""kernels/matmul/cube.asc by itself: tiles of every size, with one place in L0 and with two."""

from __future__ import annotations

import pytest
import torch
from device_lab import simulated

import labkit
from labkit import paths

pytestmark = simulated
SIZES = [(1, 1, 1), (16, 32, 160), (33, 17, 300), (129, 144, 70), (200, 130, 600)]


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("schedule", ["program", "worst"])
def test_right_and_silent(slots, schedule):
    labkit.device.install()
    kernel = labkit.kernel(paths.kernels_dir() / "matmul/cube.asc", entry=f"cube_product<{slots}>", schedule=schedule)
    for m, n, k in SIZES:
        made = torch.Generator().manual_seed(m)
        a, b = (torch.randint(-8, 9, shape, generator=made).half() / 4 for shape in ((m, k), (k, n)))
        c = torch.full((m, n), -1216.0).npu()
        record = kernel[3](a.npu(), b.npu(), c, m, n, k)
        assert record.finished and not record.findings, record.report()
        assert torch.equal(c.cpu(), a.float() @ b.float())
