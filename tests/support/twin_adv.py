"""What the tests of the advanced API share: launching a kernel of tests/twin/kernels,
and distance in units of the last place.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from places import KERNELS
from same import equal  # noqa: E402

import labkit
from labkit.build import compiler, headers, runtime
from labkit.launch import record

HERE = KERNELS
TORCH = {
    "F16": torch.float16,
    "F32": torch.float32,
    "BF16": torch.bfloat16,
    "I8": torch.int8,
    "I16": torch.int16,
    "I32": torch.int32,
}


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
        raise AssertionError(
            f"{far.sum()} of {far.size} too far; the first at {i}: {got.flatten()[i].item()!r}, exact "
            f"{exact.flatten()[i].item()!r}"
        )


class Asked(ctypes.Structure):
    _fields_ = [
        ("shape", ctypes.c_int64 * 4),
        ("original", ctypes.c_int64 * 4),
        ("dims", ctypes.c_int32),
        ("original_dims", ctypes.c_int32),
        ("size", ctypes.c_uint32),
        ("reuse", ctypes.c_uint32),
        ("more", ctypes.c_uint32),
        ("room", ctypes.c_uint32),
    ]


def asked(shape: list[int], original: list[int], size: int, reuse: bool = False, more: int = 0) -> Asked:
    """A call of the host's functions: shapes, bytes of an element, reuse of the source, one number more."""
    return Asked(
        (ctypes.c_int64 * 4)(*shape),
        (ctypes.c_int64 * 4)(*original),
        len(shape),
        len(original),
        size,
        int(reuse),
        more,
        0,
    )


@lru_cache(maxsize=None)
def _host() -> ctypes.CDLL:
    lib = runtime.library()
    flags = ["-O1", "-std=c++17", *(f"-I{d}" for d in headers.include_dirs())]
    source = Path(__file__).parent / "adv_shim.cpp"
    return ctypes.CDLL(
        str(compiler.build([source], flags=flags, name="adv_shim", libs=[lib, f"-Wl,-rpath,{lib.parent}"]))
    )


def sizes(name: str, question: Asked) -> tuple[int, int]:
    """The most and the least temporary space, in bytes."""
    most, least = ctypes.c_uint32(0), ctypes.c_uint32(0)
    assert _host().adv_sizes(name.encode(), ctypes.byref(question), ctypes.byref(most), ctypes.byref(least)), name
    assert least.value <= most.value, (name, most, least)
    return most.value, least.value


def factor(name: str, size: int) -> tuple[int, int] | None:
    """Bytes of temporary space for each byte of data, and for the whole call."""
    nodes, extra = ctypes.c_uint32(0), ctypes.c_uint32(0)
    return (
        (nodes.value, extra.value)
        if _host().adv_factor(name.encode(), size, ctypes.byref(nodes), ctypes.byref(extra))
        else None
    )


def tiling(name: str, question: Asked) -> np.ndarray:
    """The struct's bytes, the same by way of the host's class and of the plain struct."""
    got = []
    for host_class in (0, 1):
        out = np.zeros(512, np.uint8)
        n = _host().adv_tiling(name.encode(), ctypes.byref(question), host_class, out.ctypes.data_as(ctypes.c_void_p))
        assert n, name
        got.append(out[:n])
    assert equal(*got)
    return got[0]
