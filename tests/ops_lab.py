"""What the tests of the operators in kernels/ share: goldens, tolerances in units of a type's last place, launches for their time."""
from __future__ import annotations

import importlib.util

import torch

import labkit
from labkit import paths

TYPES = {torch.float16: "half", torch.bfloat16: "bfloat16_t", torch.float32: "float"}
ALLOWED = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")  # the fourth refuses PrivateUse1 in PyTorch's own code


def golden(operator: str):
    """kernels/<operator>/golden.py as a module."""
    spec = importlib.util.spec_from_file_location(f"golden_{operator}", paths.kernels_dir() / operator / "golden.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def close(got, want, ulps: float = 2.0, scale=0.0) -> None:
    """|got - want| <= ulps last places of |want| or of `scale`, if that is larger, for every element. scale: a number, or for each
    element how large the terms of its sum are; what they lose when they cancel is no fault."""
    got, want = got.detach().cpu(), want.detach().cpu()
    assert got.shape == want.shape and got.dtype == want.dtype
    if not want.numel():
        return
    kind = torch.finfo(want.dtype)
    place = torch.maximum(want.double().abs(), torch.as_tensor(scale, dtype=torch.float64)).clamp(min=kind.tiny) * kind.eps
    off = torch.where(got == want, 0.0, (got.double() - want.double()).abs() / place)  # equal also where both are infinite
    off = torch.where(got.isnan() & want.isnan(), 0.0, off).flatten()
    worst = int(off.nan_to_num(nan=torch.inf).argmax())
    assert off[worst] <= ulps, f"element {worst} is {got.flatten()[worst]}, {off[worst]:.1f} last places from {want.flatten()[worst]}"


def modelled(file: str, entry: str, blocks: int, *args) -> labkit.record.LaunchRecord:
    """A launch that only the clock takes part in."""
    record = labkit.kernel(file, entry=entry, timing_only=True, timeout=120)[blocks](*args)
    assert record.finished and not record.findings
    return record


def room(dtype, elements: int):
    """Device memory that nobody fills."""
    return torch.empty(elements, dtype=dtype, device="npu")
