"""RMSNorm in double, rounded once."""

from __future__ import annotations

import torch


def rms_norm(x, weight, eps=1e-6):
    """(y, rstd); rstd is float and has one column."""
    wide = x.double()
    rstd = 1 / (wide.square().mean(-1, keepdim=True) + eps).sqrt()
    return (wide * rstd * weight.double()).to(x.dtype), rstd.float()


def backward(dy, x, weight, rstd):
    """(dx, dweight)."""
    d, xhat, w = dy.double(), x.double() * rstd.double(), weight.double()
    g = d * w
    dx = rstd.double() * (g - xhat * (g * xhat).mean(-1, keepdim=True))
    return dx.to(x.dtype), torch.atleast_2d(d * xhat).flatten(0, -2).sum(0).to(x.dtype)


def terms(dy, x, weight, rstd):
    """How large the terms are that (dx, dweight) add up."""
    d, xhat, w = dy.double(), x.double() * rstd.double(), weight.double()
    g = (d * w).abs()
    return rstd.double() * (g + xhat.abs() * (g * xhat.abs()).mean(-1, keepdim=True)), torch.atleast_2d(
        (d * xhat).abs()
    ).flatten(0, -2).sum(0)
