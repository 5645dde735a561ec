"""The Python side of lab::unscale_: gradients of a scaled loss made right again, and whether one was inf or nan.

unscale_ = labkit.operator("unscale").unscale_
unscale_(grads, inv_scale, found_inf)       # one launch for a list; the host does not wait
"""

from __future__ import annotations

import torch

from labkit.operators import availability

SOURCE = "kernels/unscale/unscale_torch.asc"


def load() -> str:
    """Builds the operator, once; then torch.ops.lab.unscale_ is there. "" or, where it cannot be built, why not."""
    return availability.missing("unscale_", SOURCE)


def unscale_(grads: list[torch.Tensor], inv_scale: torch.Tensor, found_inf: torch.Tensor) -> None:
    """Multiplies grads in place by inv_scale; found_inf becomes 1 where one of their elements was inf or nan.

    grads: any number of float16, bfloat16 or float32 tensors of one device, of any shapes; inv_scale, found_inf:
    float32 of one element there. found_inf is never set to 0. Raises RuntimeError for other types and for tensors of
    two devices. Where the kernel cannot be built, and on other devices, it is
    torch._amp_foreach_non_finite_check_and_unscale_ for each type.
    """
    if inv_scale.device.type == "npu" and not load():
        torch.ops.lab.unscale_(grads, inv_scale, found_inf)
        return
    for dtype in dict.fromkeys(g.dtype for g in grads):
        some = [g for g in grads if g.dtype == dtype]
        torch._amp_foreach_non_finite_check_and_unscale_(some, found_inf, inv_scale)
