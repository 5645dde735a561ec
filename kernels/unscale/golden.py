"""Gradients times 1/scale: one product in float, rounded once; and whether any element was inf or nan."""

from __future__ import annotations

from pathlib import Path

import torch

import labkit

HERE = Path(__file__).parent
CTYPE = {torch.float16: "half", torch.bfloat16: "bfloat16_t", torch.float32: "float"}


def unscale(grads, inv_scale: float, found: float = 0.0):
    """(gradients, found_inf)."""
    factor = torch.tensor(inv_scale, dtype=torch.float32)
    bad = any(not bool(g.isfinite().all()) for g in grads)
    return [(g.float() * factor).to(g.dtype) for g in grads], 1.0 if bad else found


def launch(grads, inv_scale: float, found: float = 0.0, blocks: int = 48, tile: int = 1024, made=None, **how):
    """(record, gradients, found_inf): a launch of the kernel by itself, on copies of the gradients (one type)."""
    kernel = made or labkit.kernel(HERE / "unscale.asc", entry=f"unscale<{CTYPE[grads[0].dtype]}>", **how)
    on = [g.clone().npu() for g in grads]
    scale, flag = torch.tensor([inv_scale]).npu(), torch.tensor([found]).npu()
    tensors = kernel.struct("Tensors", count=len(on), tile=tile)
    for i, g in enumerate(on):
        tensors.at[i], tensors.size[i] = g.data_ptr(), g.numel()
    return kernel[blocks](scale, flag, tensors), on, flag
