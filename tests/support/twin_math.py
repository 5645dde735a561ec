"""labkit/twin/src/lanes/math.h for Python: its functions on numpy arrays, test data, and what "equal" means here.

Shared by tests/twin/lanes/test_math.py and test_cast.py. bfloat16 travels as uint16.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
from twin_golden import NP, TYPES

from labkit import paths
from labkit.build import compiler

DT = {name: i for i, name in enumerate(TYPES)}
MODES = "None Rint Floor Ceil Round Trunc Odd Hybrid".split()
ALL_HALVES = np.arange(65536, dtype=np.uint16).view(np.float16)
F32 = np.float32
rng = np.random.default_rng(2201)


class Math:
    """The shim's functions on numpy arrays. Every destination has a guard behind it that must not change."""

    def __init__(self, march: str):
        src = paths.twin_dir() / "src"
        sources = [*sorted(src.glob("lanes/*.cpp")), Path(__file__).with_name("math_shim.cpp")]
        flags = [
            "-std=c++17",
            "-O3",
            f"-march={march}",
            "-ffp-contract=off",
            "-fno-math-errno",
            f"-I{paths.twin_dir() / 'include'}",
            f"-I{src}",
        ]
        self.path = compiler.build(sources, flags=flags, name=f"test_math_{march.replace('-', '_')}")
        self.c = ctypes.CDLL(str(self.path))
        self.c.m_half_to_float.restype, self.c.m_float_to_half.restype = ctypes.c_float, ctypes.c_uint16
        for name in ("m_supports", "m_supports_compare", "m_supports_cast"):
            getattr(self.c, name).restype = ctypes.c_bool

    def __call__(self, name, *args, out: np.dtype | np.ndarray, n: int):
        """m_<name>(words..., out, arrays..., numbers..., n); `out` a dtype, or the array that is read and written."""
        d = np.concatenate([out, np.zeros(64, out.dtype)]) if isinstance(out, np.ndarray) else np.zeros(n + 64, out)
        d[n:] = 77
        at = next((i for i, a in enumerate(args) if isinstance(a, np.ndarray)), len(args))
        words = [a.encode() if isinstance(a, str) else DT.get(a, a) for a in args[:at]]
        rest = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in args[at:]]
        getattr(self.c, f"m_{name}")(*words, ctypes.c_void_p(d.ctypes.data), *rest, ctypes.c_size_t(n))
        assert (d[n:] == 77).all(), "wrote past the end"
        return d[:n]

    def unary(self, op, t, s):
        return self("unary", op, DT[t], s, out=NP[t], n=len(s))

    def binary(self, op, t, a, b, d=None):
        return self("binary", op, DT[t], a, b, out=NP[t] if d is None else d, n=len(a))

    def scalar(self, op, t, s, value, d=None):
        return self("scalar", op, DT[t], s, bits(value), out=NP[t] if d is None else d, n=len(s))

    def cast(self, to, frm, mode, s):
        return self("cast", DT[to], DT[frm], MODES.index(mode), s, out=NP[to], n=len(s))


PAIRS = {
    "I8": ["F16"],
    "U8": ["F16"],
    "I16": ["F16", "F32"],
    "F16": ["I8", "U8", "I16", "I32", "F32"],
    "BF16": ["I32", "F32"],
    "I32": ["I16", "F16", "F32", "I64"],
    "I64": ["I32", "F32"],
    "F32": ["I16", "F16", "BF16", "I32", "F32", "I64"],
}


def bits(value) -> ctypes.c_uint64:
    return ctypes.c_uint64(int.from_bytes(np.asarray(value).tobytes(), "little"))


def some(t: str, n: int = 4096) -> np.ndarray:
    """n + 5 values: a quarter where arithmetic goes wrong, then random bits, then (floats) ordinary numbers."""
    dtype = np.dtype(NP[t])
    raw = rng.integers(0, 256, (n + 5) * dtype.itemsize, dtype=np.uint8).view(dtype)
    if t in ("F16", "F32"):
        info = np.finfo(dtype)
        special = [
            0.0,
            -0.0,
            1,
            -1,
            0.5,
            2.5,
            np.inf,
            -np.inf,
            np.nan,
            info.max,
            -info.max,
            info.tiny,
            -info.tiny,
            info.smallest_subnormal,
            info.eps,
        ]
        raw = np.concatenate([raw[: n // 2], rng.normal(size=n).astype(dtype)])
    else:
        info = np.iinfo(dtype)
        special = [0, 1, info.max, info.min, info.max - 1, info.min + 1]
    special = np.array(special, dtype)
    return np.concatenate([rng.choice(special, n // 4), raw])[: n + 5]


def same(got: np.ndarray, want: np.ndarray) -> None:
    """Equal bits; where a float is NaN, the quiet one."""
    want = want.astype(got.dtype)
    g, w = got.view(f"u{got.itemsize}"), want.view(f"u{got.itemsize}")
    if got.dtype.kind == "f":
        w = np.where(np.isnan(want), {2: 0x7E00, 4: 0x7FC00000}[got.itemsize], w)
    wrong = np.flatnonzero(g != w)
    assert not len(wrong), f"{len(wrong)} differ, first at {wrong[0]}: got {got[wrong[0]]!r}, want {want[wrong[0]]!r}"


def ulps(got: np.ndarray, want: np.ndarray) -> float:
    """Largest error in units of the last place of got's type; want is float64. inf, NaN and zero must agree exactly."""
    info = np.finfo(got.dtype)
    rounded = want.astype(got.dtype)
    plain = np.isfinite(rounded)
    same(got[~plain], rounded[~plain])
    exponent = np.maximum(np.frexp(np.abs(want[plain]))[1] - 1, info.minexp)
    return float(np.max(np.abs(got[plain].astype(np.float64) - want[plain]) / np.ldexp(1.0, exponent - info.nmant)))
