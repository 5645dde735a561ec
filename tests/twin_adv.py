"""What the tests of the advanced API share: launching a kernel of tests/twin_api, and distance in units of the last place."""
from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

import labkit
from labkit import record

HERE = Path(__file__).parent / "twin_api"
TORCH = {"F16": torch.float16, "F32": torch.float32, "BF16": torch.bfloat16, "I8": torch.int8, "I16": torch.int16,
         "I32": torch.int32}


@lru_cache(maxsize=None)
def kernel(file: str, entry: str, chip_checks: bool = True) -> labkit.Kernel:
    return labkit.kernel(HERE / file, entry=entry, checks=chip_checks)


def launch(k, *arguments, blocks: int = 1) -> record.LaunchRecord:
    """The record, whether or not the launch finished."""
    try:
        return k[blocks](*arguments)
    except record.LaunchError as error:
        return error.record


def ranks(x: torch.Tensor) -> np.ndarray:
    """A floating value's place in the order of all values of its type: neighbours differ by 1."""
    bits = {2: torch.int16, 4: torch.int32}[x.element_size()]
    i = x.contiguous().view(bits).numpy().astype(np.int64)
    return np.where(i < 0, -(i & (2 ** (8 * x.element_size() - 1) - 1)), i)


def units_apart(got: torch.Tensor, exact: torch.Tensor) -> np.ndarray:
    """Units in the last place between results and the exact (float64) values, rounded to the result's type."""
    want = exact.to(got.dtype)
    apart = np.abs(ranks(got) - ranks(want))
    both_nan = torch.isnan(got) & torch.isnan(want)
    return np.where(both_nan.numpy(), 0, np.where((torch.isnan(got) | torch.isnan(want)).numpy(), 1 << 40, apart))


def agree(got: torch.Tensor, exact: torch.Tensor, units: int = 1, floor: float = 0.0) -> None:
    """Within `units` of the exact value, or within `floor` of it where it passes through zero."""
    far = units_apart(got, exact) > units
    far &= ~(np.abs((got.double() - exact).numpy()) <= floor)
    if far.any():
        i = int(np.flatnonzero(far.ravel())[0])
        raise AssertionError(f"{far.sum()} of {far.size} too far; the first at {i}: {got.flatten()[i].item()!r}, exact {exact.flatten()[i].item()!r}")
