"""x + residual, then RMSNorm of the rounded sum: in double, each result rounded once."""

from __future__ import annotations

import torch


def residual_rms_norm(x, residual, weight, eps=1e-6):
    """(y, sum, rstd); rstd is float and has one column."""
    total = (x.double() + residual.double()).to(x.dtype)
    wide = total.double()
    rstd = 1 / (wide.square().mean(-1, keepdim=True) + eps).sqrt()
    return (wide * rstd * weight.double()).to(x.dtype), total, rstd.float()


def backward(dy, dsum, total, weight, rstd):
    """(dx, dweight); the residual's gradient is dx too."""
    d, xhat, w, r = dy.double(), total.double() * rstd.double(), weight.double(), rstd.double()
    g = d * w
    dx = (r * (g - xhat * (g * xhat).mean(-1, keepdim=True))).to(total.dtype)  # rounded, then added
    return (dx.double() + dsum.double()).to(total.dtype), torch.atleast_2d(d * xhat).flatten(0, -2).sum(0).to(
        total.dtype
    )
