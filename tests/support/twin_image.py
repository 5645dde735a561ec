"""An image of UB that both sides see: what the tests of the twin's instructions share.

`lab.form` runs one instruction of tests/twin/kernels/forms.asc, `lab.move` one copy of tests/twin/kernels/copies.asc.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import strategies as st
from places import KERNELS
from twin_golden import NP

import labkit

HERE = KERNELS
REGION, BYTES, MEMORY = 4096, 4 * 4096, 16384
blocks = st.integers(0, 40).map(lambda n: 32 * n)  # where an operand starts in its region


class Shared:
    """Device memory that both sides see: numpy on one, the kernel on the other."""

    def __init__(self, size: int):
        import torch

        self.tensor = torch.zeros(size, dtype=torch.uint8).npu()
        self.bytes = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(self.tensor.data_ptr()))


@pytest.fixture(scope="module")
def lab():
    """forms(image, **form) and copies(image, memory, **move) -> what is there afterwards."""
    kernels = {name: labkit.kernel(HERE / f"{name}.asc") for name in ("forms", "copies")}
    image, out, memory = Shared(BYTES), Shared(BYTES), Shared(MEMORY)

    class Lab:
        @staticmethod
        def form(start, **form):
            image.bytes[:], out.bytes[:] = start, 0x5A
            k = kernels["forms"]
            record = k[1](image.tensor, out.tensor, k.struct("Form", bytes=BYTES, **form))
            stays = {"repeat-lost"} if not form.get("dstRep", 8) else set()  # that the last of them stays is looked at
            assert record.finished and {*record.codes()} <= stays, record.report()
            return out.bytes.copy()

        @staticmethod
        def move(start, around, **move):
            image.bytes[:], memory.bytes[:], out.bytes[:] = start, around, 0x5A
            k = kernels["copies"]
            record = k[1](image.tensor, out.tensor, memory.tensor, k.struct("Move", bytes=BYTES, **move))
            assert record.finished and not record.findings, record.report()
            return out.bytes.copy(), memory.bytes.copy()

    return Lab


def fill(seed: int, *types: str, low=-8.0, high=8.0) -> np.ndarray:
    """An image whose regions hold ordinary numbers of the types, one region a type, the last one for the rest."""
    rng = np.random.default_rng(seed)
    parts = []
    for t in (*types, *types[-1:] * (BYTES // REGION - len(types))):
        dtype = np.dtype(NP[t])
        n = REGION // dtype.itemsize
        if dtype.kind == "f":
            x = rng.uniform(low, high, n).astype(dtype)
        elif t == "BF16":
            x = (rng.uniform(low, high, n).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        else:
            x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, n, dtype, endpoint=True) >> rng.integers(
                0, dtype.itemsize * 8 - 1, n
            ).astype(dtype)
        parts.append(x.view(np.uint8))
    return np.concatenate(parts)


def agree(got: np.ndarray, want: np.ndarray, dtype, ulp: int = 0) -> None:
    """Byte for byte; where a float is NaN, any NaN; with ulp, that many units in the last place."""
    if np.array_equal(got, want):
        return
    dtype = np.dtype(dtype)
    g, w = got.view(dtype), want.view(dtype)
    wrong = got.view(f"u{dtype.itemsize}") != want.view(f"u{dtype.itemsize}")
    if dtype.kind == "f":
        wrong &= ~(np.isnan(g) & np.isnan(w))
        if ulp:
            wrong &= ~(np.abs(g.astype(np.float64) - w) <= ulp * np.spacing(np.abs(w)))
    at = np.flatnonzero(wrong)
    assert not len(at), (
        f"{len(at)} elements differ, first at byte {at[0] * dtype.itemsize}: got {g[at[0]]!r}, want {w[at[0]]!r}"
    )


def bits(value) -> int:
    return int.from_bytes(np.asarray(value).tobytes(), "little")
