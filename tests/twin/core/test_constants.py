"""Constant tables in a kernel's source are read as from GM."""

from __future__ import annotations

from twin_image import HERE

import labkit


def test_tables_of_the_kernel():
    import torch

    kernel = labkit.kernel(HERE / "constants.asc")
    z = torch.zeros(24, dtype=torch.int32).npu()
    assert kernel[1](z, 8).codes() == []
    got = z.cpu()
    assert got[:8].tolist() == got[16:].tolist() == list(range(5, 13))
    assert got[8:16].view(torch.float32).tolist() == [i + 0.5 for i in range(8)]
