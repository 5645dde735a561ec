"""Which device an argument means, and the context managers that make it current."""

from __future__ import annotations

import torch

from labkit import messages
from labkit.device.library import lib


def index(device=None) -> int:
    """Index of the device that an argument of torch.npu names: None (the current one), 0, "npu:0" or a torch.device.

    Raises ValueError for a device of another kind.
    """
    if device is None:
        return lib().lab_get_device()
    if isinstance(device, int):
        return device
    wanted = torch.device(device)
    if wanted.type != "npu":
        raise ValueError(f"Expected a npu device, but got: {wanted}")
    return lib().lab_get_device() if wanted.index is None else wanted.index


def device_count() -> int:
    return lib().lab_device_count()


def current_device() -> int:
    return lib().lab_get_device()


def set_device(device) -> None:
    """Makes `device` (index, "npu:0", torch.device) current on this thread. Raises RuntimeError when there is none."""
    i = index(device)
    if lib().lab_set_device(i):
        raise RuntimeError(messages.text("device.no_device", index=i, count=device_count()))


class device:
    """Context manager: `device` is current inside. None or a negative index changes nothing."""

    def __init__(self, device):
        self.idx = -1 if device is None else index(device)
        self.prev_idx = -1

    def __enter__(self):
        self.prev_idx = lib().lab_get_device()
        if self.idx >= 0:
            set_device(self.idx)
        return self

    def __exit__(self, *_):
        lib().lab_set_device(self.prev_idx)
        return False


class device_of(device):
    """Context manager: the device of a tensor is current inside; a tensor elsewhere changes nothing."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.device.type == "npu" else None)
