"""LayerNorm, then GELU in the tanh form: in double, rounded once."""

from __future__ import annotations

import math

import torch


def _norm(x, weight, bias, eps):
    wide = x.double()
    mean = wide.mean(-1, keepdim=True)
    rstd = 1 / ((wide - mean).square().mean(-1, keepdim=True) + eps).sqrt()
    return (wide - mean) * rstd * weight.double() + bias.double(), mean, rstd


def _slope(z):
    """The sigmoid of 2u, and the derivative of 2u; gelu(z) = z * sigmoid."""
    linear, cubic = math.sqrt(8 / math.pi), math.sqrt(8 / math.pi) * 0.044715
    return torch.sigmoid(z * (linear + cubic * z * z)), linear + 3 * cubic * z * z


def layer_norm_gelu(x, weight, bias, eps=1e-5):
    """(y, mean, rstd); mean and rstd are float and have one column."""
    z, mean, rstd = _norm(x, weight, bias, eps)
    return (z * _slope(z)[0]).to(x.dtype), mean.float(), rstd.float()


def terms(x, weight, bias, eps=1e-5):
    """How much y may move when what its sum has added loses a last place."""
    z, mean, rstd = _norm(x, weight, bias, eps)
    size = (x.double().abs() + mean.abs()) * rstd * weight.double().abs() + bias.double().abs()
    s, slope = _slope(z)
    return size * s * (1 + size * slope * (1 - s)) + 1e-28


def backward(dy, x, weight, bias, eps=1e-5):
    """(dx, dweight, dbias)."""
    x, weight, bias = (t.detach().double().requires_grad_() for t in (x, weight, bias))
    z, *_ = _norm(x, weight, bias, eps)
    return torch.autograd.grad(z * _slope(z)[0], (x, weight, bias), dy.double())
