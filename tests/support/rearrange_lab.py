"""What the tests of functions of whole tensors share: the host's tilings, and a kernel that runs one function."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from same import equal  # noqa: E402
from twin_image import HERE, Shared

import labkit
from labkit.build import compiler, headers, runtime

REGION = 32768
SRC, DST, MORE, WORK = 0, REGION, 2 * REGION, 3 * REGION  # where operands, second operands or masks, and scratch lie
BYTES = 4 * REGION
OP = {"Broadcast": 0, "Pad": 1, "UnPad": 2, "Select": 3, "DropOut": 4, "TopK": 5, "Transpose": 6, "TransData": 7}
TYPE = {"half": 0, "float": 1, "int8": 2, "int32": 3}
DT = {"half": np.float16, "float": np.float32, "int8": np.int8, "int32": np.int32}


class Host:
    """sizes("pad", [3, 5], 2) -> (max, min); tiling("pad", [3, 5], [3, 4], 4096, 2) -> bytes of the struct."""

    def __init__(self, shim):
        self.shim = shim

    def sizes(self, name: str, *args):
        most, least = ctypes.c_uint32(77), ctypes.c_uint32(77)
        getattr(self.shim, f"sizes_{name}")(*map(c, args), ctypes.byref(most), ctypes.byref(least))
        assert least.value <= most.value
        return most.value, least.value

    def tiling(self, name: str, *args) -> np.ndarray:
        got = []
        for host_class in (0, 1):
            out = np.zeros(256, np.uint8)
            getattr(self.shim, f"tiling_{name}")(out.ctypes.data_as(ctypes.c_void_p), host_class, *map(c, args))
            got.append(out)
        assert equal(*got)
        return got[0]


def c(x):
    if isinstance(x, (list, tuple)):
        return (ctypes.c_int64 * len(x))(*x)
    return ctypes.c_bool(x) if isinstance(x, bool) else ctypes.c_int(x)


@pytest.fixture(scope="module")
def host():
    lib = runtime.library()
    flags = ["-O1", "-std=c++17", *(f"-I{d}" for d in headers.include_dirs())]
    source = Path(__file__).parent / "rearrange_shim.cpp"
    return Host(
        ctypes.CDLL(
            str(compiler.build([source], flags=flags, name="rearrange_shim", libs=[lib, f"-Wl,-rpath,{lib.parent}"]))
        )
    )


@pytest.fixture(scope="module")
def whole():
    """whole(image, "Pad", "half", tiling=..., findings=[...], a=..., ...) -> the image afterwards."""
    kernel = labkit.kernel(HERE / "whole.asc", entry="form")
    image, out, memory = Shared(BYTES), Shared(BYTES), Shared(256)

    def run(start, name, t, tiling=None, findings=(), **f):
        image.bytes[:], out.bytes[:], memory.bytes[:] = start, 0x5A, 0 if tiling is None else tiling
        blank = dict(dst=DST, dst2=0, src=SRC, src2=0, mask=0, work=WORK, work_bytes=0, a=0, b=0, c=0, d=0, x=0.0)
        record = kernel[1](
            image.tensor,
            out.tensor,
            memory.tensor,
            kernel.struct("Form", **(blank | dict(op=OP[name], type=TYPE[t], bytes=BYTES) | f)),
        )
        assert record.finished and [x.code for x in record.findings] == list(findings), record.report()
        return out.bytes.copy()

    return run


def place(image, at, values):
    raw = np.ascontiguousarray(values).view(np.uint8).ravel()
    image[at : at + len(raw)] = raw


def values(rng, n: int, t: str) -> np.ndarray:
    dtype = np.dtype(DT[t])
    return (
        rng.uniform(-8, 8, n).astype(dtype)
        if dtype.kind == "f"
        else rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, n, dtype, endpoint=True)
    )


def noise(rng) -> np.ndarray:
    return rng.integers(0, 256, BYTES).astype(np.uint8)
