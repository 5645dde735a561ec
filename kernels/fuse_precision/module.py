"""labkit.operator("fuse_precision"): the fused softmax of notebook 04.07's detective case."""

import torch


def suspect(x: torch.Tensor) -> torch.Tensor:
    """A softmax along the rows of x [rows, width], as a pass that is nearly right has fused it."""
    width = x.shape[-1]
    axis = list(x.shape).index(width)
    e = (x.float() - x.float().amax(axis, keepdim=True)).exp()
    return (e / e.sum(axis, keepdim=True)).to(x.dtype)
