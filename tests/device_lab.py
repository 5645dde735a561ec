"""What the tests of the simulated device share."""
from __future__ import annotations

import os

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

import labkit.device as device  # noqa: E402

simulated = pytest.mark.skipif(device.mode() != "sim", reason="a real NPU is used here")


def inside(t: torch.Tensor) -> bool:
    """Whether the tensor's memory lies in the arena."""
    _, base, size = device.arena()
    return base <= t.data_ptr() < base + size
