"""bias + GELU in the tanh form, in double, rounded once."""

from __future__ import annotations

import math

import torch


def _parts(x, bias):
    """z, the sigmoid of 2u, and the derivative of 2u."""
    z = x.double() + bias.double()
    linear, cubic = math.sqrt(8 / math.pi), math.sqrt(8 / math.pi) * 0.044715
    return z, torch.sigmoid(z * (linear + cubic * z * z)), linear + 3 * cubic * z * z


def bias_gelu(x, bias):
    z, s, _ = _parts(x, bias)
    return (z * s).to(x.dtype)


def backward(dy, x, bias):
    """(dx, dbias); dbias is the sum of what dx was before it was rounded."""
    z, s, slope = _parts(x, bias)
    dx = dy.double() * s * (1 + z * (1 - s) * slope)
    return dx.to(x.dtype), torch.atleast_2d(dx).flatten(0, -2).sum(0).to(x.dtype)


def terms(dy, x, bias):
    """How much y, dx and dbias may move when x + bias and the exponent lose a last place; 1e-28: below, exp in float is
    infinite.
    """
    z, s, slope = _parts(x, bias)
    size = x.double().abs() + bias.double().abs()
    moves = s * (1 + size * slope * (1 - s))
    each = dy.double().abs() * moves * (1 + size * slope) + 1e-28
    return size * moves + 1e-28, each, torch.atleast_2d(each).flatten(0, -2).sum(0)
