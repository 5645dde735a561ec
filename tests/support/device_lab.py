"""What the tests of the simulated device share."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

import labkit.device as device  # noqa: E402

# On a node these would check the card against modelled times and the twin's findings, so none of them runs there: what
# they say of an operator's results is not tested on a card either.
simulated = pytest.mark.skipif(
    device.mode() != "sim", reason="tests the simulated device and the twin; here a real NPU is used"
)


def inside(t: torch.Tensor) -> bool:
    """Whether the tensor's memory lies in the arena."""
    _, base, size = device.arena()
    return base <= t.data_ptr() < base + size
