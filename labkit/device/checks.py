"""What torch_npu's operators ask of their arguments, said before anything is computed or stored."""

from __future__ import annotations

import torch

from labkit import messages
from labkit.device.names import Format


def halves(x: torch.Tensor, dim: int = -1, interleaved: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """x in two along an axis: the first and the second half, or every other one. Raises RuntimeError where the axis is
    of odd length: chunk() would make parts of different sizes, and what multiplies them may broadcast one."""
    count = x.size(dim)
    if count % 2:
        raise RuntimeError(messages.text("device.no_halves", dim=dim, count=count))
    if interleaved:
        pairs = x.unflatten(dim, (count // 2, 2))
        after = dim if dim < 0 else dim + 1
        return pairs.select(after, 0), pairs.select(after, 1)
    return x.narrow(dim, 0, count // 2), x.narrow(dim, count // 2, count // 2)


def known_format(number) -> Format:
    """A format by AscendCL's number. Raises RuntimeError for one that there is not."""
    try:
        return Format(int(number))
    except ValueError:
        raise RuntimeError(messages.text("device.no_format", number=number)) from None
