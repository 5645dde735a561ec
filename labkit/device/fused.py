"""Fused operators of torch_npu that models call most: torch_npu.npu_swiglu, npu_rms_norm, npu_rotary_mul.

Each is one operator with one launch on the device's clock, as on the card; the numbers are computed in fp32 and rounded
once. They exist from the first use of torch_npu.<name> on; torch.ops.npu.<name> is the same operator.
"""

from __future__ import annotations

from typing import Any

import torch

_SCHEMAS = (
    "npu_swiglu(Tensor self, int dim=-1) -> Tensor",
    "npu_swiglu_backward(Tensor grad_output, Tensor self, int dim=-1) -> Tensor",
    "npu_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)",
    "npu_rms_norm_backward(Tensor dy, Tensor self, Tensor gamma, Tensor rstd) -> (Tensor, Tensor)",
    "npu_rotary_mul(Tensor self, Tensor r1, Tensor r2, str rotary_mode='half') -> Tensor",
)
NAMES = ("npu_format_cast", "npu_fusion_attention", "npu_rms_norm", "npu_rotary_mul", "npu_swiglu", "get_npu_format")
FORMAT_ND = 2
_keep: list[torch.library.Library] = []


def function(name: str) -> Any:
    """One of NAMES."""
    if name == "npu_format_cast":
        return npu_format_cast
    if name == "npu_fusion_attention":
        from labkit.device.attention import npu_fusion_attention

        return npu_fusion_attention
    if name == "get_npu_format":
        return lambda tensor: FORMAT_ND
    _register()
    return getattr(torch.ops.npu, name)


def npu_format_cast(tensor: torch.Tensor, acl_format: int, customize_dtype=None) -> torch.Tensor:
    """The same tensor: private formats (29 is FRACTAL_NZ) change how the card stores it, not its values."""
    return tensor


def _register() -> None:
    if _keep:
        return
    library = torch.library.Library("npu", "FRAGMENT")
    _keep.append(library)
    for schema in _SCHEMAS:
        library.define(schema)
    for name, make in (
        ("npu_swiglu", _swiglu),
        ("npu_swiglu_backward", _swiglu_backward),
        ("npu_rms_norm", _rms_norm),
        ("npu_rms_norm_backward", _rms_norm_backward),
        ("npu_rotary_mul", _rotary_mul),
    ):
        library.impl(name, make, "CPU")  # on npu tensors the device's fallback runs this on the same memory
        library.impl(name, make, "Meta")
    ops = torch.ops.npu

    def save_swiglu(ctx, inputs, output):
        ctx.dim = inputs[1]
        ctx.save_for_backward(inputs[0])

    def save_rms_norm(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], inputs[1], output[1])

    torch.library.register_autograd(
        "npu::npu_swiglu",
        lambda ctx, grad: (ops.npu_swiglu_backward(grad, ctx.saved_tensors[0], ctx.dim), None),
        setup_context=save_swiglu,
        lib=library,
    )
    torch.library.register_autograd(
        "npu::npu_rms_norm",
        lambda ctx, grad, _: (*ops.npu_rms_norm_backward(grad, *ctx.saved_tensors), None),
        setup_context=save_rms_norm,
        lib=library,
    )
    torch.library.register_autograd("npu::npu_rotary_mul", _rotary_gradient, setup_context=_save_rotary, lib=library)


def _swiglu(self, dim=-1):
    gate, up = self.float().chunk(2, dim)
    return (torch.nn.functional.silu(gate) * up).to(self.dtype)


def _swiglu_backward(grad_output, self, dim=-1):
    gate, up = self.float().chunk(2, dim)
    grad, s = grad_output.float(), torch.sigmoid(gate)
    return torch.cat([grad * up * s * (1 + gate * (1 - s)), grad * gate * s], dim).to(self.dtype)


def _rms_norm(self, gamma, epsilon=1e-6):
    x = self.float()
    dims = tuple(range(-gamma.dim(), 0))
    rstd = torch.rsqrt(x.square().mean(dims, keepdim=True) + epsilon)
    return (x * rstd * gamma.float()).to(self.dtype), rstd


def _rms_norm_backward(dy, self, gamma, rstd):
    dims = tuple(range(-gamma.dim(), 0))
    normal, grad = self.float() * rstd, dy.float()
    inner = grad * gamma.float()
    to_x = rstd * (inner - normal * (inner * normal).mean(dims, keepdim=True))
    rows = tuple(range(dy.dim() - gamma.dim()))
    to_gamma = (grad * normal).sum(rows) if rows else grad * normal
    return to_x.to(self.dtype), to_gamma.to(gamma.dtype)


def _turned(x, mode: str):
    if mode == "interleave":
        return torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    first, second = x.chunk(2, -1)
    return torch.cat([-second, first], -1)


def _rotary_mul(self, r1, r2, rotary_mode="half"):
    if rotary_mode not in ("half", "interleave"):
        raise ValueError(f"rotary_mode is 'half' or 'interleave', not {rotary_mode!r}")
    x = self.float()
    return (x * r1.float() + _turned(x, rotary_mode) * r2.float()).to(self.dtype)


def _save_rotary(ctx, inputs, output):
    ctx.mode = inputs[3]
    ctx.save_for_backward(*inputs[:3])


def _rotary_gradient(ctx, grad):
    """Rotation is linear in x, r1 and r2; turning by a quarter back is turning by three quarters."""
    x, r1, r2 = ctx.saved_tensors

    def like(t, target):
        axes = [
            i for i in range(t.dim()) if i < t.dim() - target.dim() or target.shape[i - t.dim() + target.dim()] == 1
        ]
        return t.sum(axes, keepdim=True).reshape(target.shape) if axes else t

    to_x = grad * r1 - _turned(grad * r2, ctx.mode)
    return to_x, like(grad * x, r1), like(grad * _turned(x, ctx.mode), r2), None
