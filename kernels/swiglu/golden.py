"""SwiGLU in double, rounded once: what the kernels and the operators are held against."""

from __future__ import annotations

import torch


def swiglu(gate, up):
    g, u = gate.double(), up.double()
    return (g / (1 + torch.exp(-g)) * u).to(gate.dtype)


def backward(grad, gate, up):
    """(dGate, dUp)."""
    d, g, u = grad.double(), gate.double(), up.double()
    s = 1 / (1 + torch.exp(-g))
    return (d * u * s * (1 + g * (1 - s))).to(gate.dtype), (d * g * s).to(gate.dtype)


def terms(grad, gate, up):
    """How large the terms of dGate = grad * up * s * (1 + gate - silu) are; they cancel near gate = -1.28 and far above
    0.
    """
    d, g, u = grad.double(), gate.double(), up.double()
    return (d * u / (1 + torch.exp(-g))).abs() * (1 + g.abs())


# ---- notebook 03.07: SwiGLU in LLaMA
from labkit.operators.swiglu.lesson import audit_cases, pass_cases, replace_cases, run_pass, run_replace  # noqa: E402, F401
