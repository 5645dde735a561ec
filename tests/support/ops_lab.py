"""What the tests of the operators in kernels/ share: goldens, tolerances in units of a type's last place,
tensors laid out in memory.
"""

from __future__ import annotations

import importlib.util
import sys

import torch

from labkit import paths

TYPES = {torch.float16: "half", torch.bfloat16: "bfloat16_t", torch.float32: "float"}
# the fourth refuses PrivateUse1 in PyTorch's own code
ALLOWED = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")


def module(name: str, path):
    """A file of Python that is in no package."""
    spec = importlib.util.spec_from_file_location(name, path)
    made = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def golden(operator: str):
    """kernels/<operator>/golden.py."""
    return module(f"golden_{operator}", paths.kernels_dir() / operator / "golden.py")


def close(got, want, ulps: float = 2.0, scale=0.0) -> None:
    """|got - want| <= ulps last places of |want| or of `scale`, if that is larger, for every element. scale: a number,
    or for each element how large the terms of its sum are; what they lose when they cancel is no fault."""
    got, want = got.detach().cpu(), want.detach().cpu()
    assert got.shape == want.shape and got.dtype == want.dtype
    if not want.numel():
        return
    kind = torch.finfo(want.dtype)
    place = (
        torch.maximum(want.double().abs(), torch.as_tensor(scale, dtype=torch.float64)).clamp(min=kind.tiny) * kind.eps
    )
    # equal also where both are infinite
    off = torch.where(got == want, 0.0, (got.double() - want.double()).abs() / place)
    off = torch.where(got.isnan() & want.isnan(), 0.0, off).flatten()
    worst = int(off.nan_to_num(nan=torch.inf).argmax())
    assert off[worst] <= ulps, (
        f"element {worst} is {got.flatten()[worst]}, {off[worst]:.1f} last places from {want.flatten()[worst]}"
    )


def values(shape, dtype, seed, size=4.0):
    return (size * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)).to(dtype)


def laid(x, how):
    """The same numbers on the device, laid out: "packed" beside a neighbour,
    "offset" one element into its memory, "turned" by columns.
    """
    if how == "packed":
        return torch.cat([x.flip(-1), x], -1).npu()[..., x.shape[-1] :] if x.dim() else x.npu()
    if how == "offset":
        return torch.cat([x.new_zeros(1), x.flatten()]).npu()[1:].view(x.shape)
    if how == "turned":
        return x.transpose(0, -1).contiguous().npu().transpose(0, -1) if x.dim() else x.npu()
    return x.npu()


def in_rows(t) -> bool:
    """Elements of a row side by side, and rows at one distance: what the kernel takes."""
    if t.numel() == 0 or t.is_contiguous():
        return True
    sides = [(n, s) for n, s in zip(t.shape[:-1], t.stride()) if n > 1]
    width = t.shape[-1]
    return (
        (width == 1 or t.stride(-1) == 1)
        and all(s == n2 * s2 for (_, s), (n2, s2) in zip(sides, sides[1:]))
        and (not sides or sides[-1][1] >= width)
    )
