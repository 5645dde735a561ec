"""The functions of double lanes are as good as their headers say, about 1e-13: rounded to float a wrong coefficient is seen
at few arguments, or at none that a test draws, and in another release of the compiler at others.

The references are numpy's and scipy's, good to about 1e-15.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from labkit import paths
from labkit.build import compiler

N = 1 << 13


def uniform(low, high):
    return lambda rng: rng.uniform(low, high, N)


def magnitudes(low, high, signs=(-1.0, 1.0)):
    return lambda rng: rng.choice(signs, N) * 2.0 ** rng.uniform(low, high, N)


ANY, POSITIVE = magnitudes(-30, 9), magnitudes(-300, 300, [1.0])
# function: (reference, arguments, bound relative to the value, bound beside it where the value passes through zero)
ONE = {
    "exp": (np.exp, uniform(-600, 600), 2e-13, 0),
    "expm1": (np.expm1, ANY, 2e-13, 0),
    "log": (np.log, POSITIVE, 1e-13, 0),
    "log1p": (np.log1p, magnitudes(-30, 9, [1.0]), 1e-13, 0),
    "sin": (np.sin, ANY, 1e-13, 1e-13),
    "cos": (np.cos, ANY, 1e-13, 1e-13),
    "tan": (np.tan, uniform(-1.5, 1.5), 1e-13, 0),
    "atan": (np.arctan, ANY, 1e-13, 0),
    "asin": (np.arcsin, uniform(-1, 1), 1e-13, 0),
    "acos": (np.arccos, uniform(-1, 1), 1e-13, 0),
    "sinh": (np.sinh, ANY, 2e-13, 0),
    "cosh": (np.cosh, ANY, 2e-13, 0),
    "tanh": (np.tanh, ANY, 1e-13, 0),
    "asinh": (np.arcsinh, ANY, 1e-13, 0),
    "acosh": (np.arccosh, lambda rng: 1 + 2.0 ** rng.uniform(-10, 30, N), 1e-12, 0),
    "atanh": (np.arctanh, uniform(-0.999, 0.999), 1e-13, 0),
    "erf": (special.erf, uniform(-6, 6), 5e-13, 0),
    "erfc": (special.erfc, uniform(-6, 20), 3e-12, 0),
    "lgamma": (special.gammaln, uniform(0.01, 60), 1e-13, 1e-13),
    "digamma": (special.psi, uniform(0.01, 60), 1e-13, 1e-13),
    "floor": (np.floor, ANY, 0, 0),
    "ceil": (np.ceil, ANY, 0, 0),
    "trunc": (np.trunc, ANY, 0, 0),
    "round_even": (np.rint, ANY, 0, 0),
    "sqrt": (np.sqrt, POSITIVE, 0, 0),
}
TWO = {
    "pow": (np.power, magnitudes(-8, 8, [1.0]), uniform(-40, 40), 2e-13),
    "fmod": (np.fmod, ANY, lambda rng: rng.uniform(0.5, 40, N).astype(np.float32).astype(np.float64), 0),
}


@pytest.fixture(scope="module")
def call():
    src = paths.twin_dir() / "src"
    flags = [
        "-std=c++17",
        "-O2",
        "-ffp-contract=off",
        "-fno-math-errno",
        f"-I{paths.twin_dir() / 'include'}",
        f"-I{src}",
    ]
    shim = Path(__file__).parents[2] / "support" / "wide_shim.cpp"
    library = ctypes.CDLL(str(compiler.build([shim], flags=flags, name="test_wide")))
    library.wide_call.restype = ctypes.c_bool

    def run(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = np.zeros(N)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (out, x, y)]
        assert library.wide_call(name.encode(), *pointers, ctypes.c_size_t(N)), f"no {name} in wide_shim.cpp"
        return out

    return run


def near(name, got, want, x, relative, beside):
    error = np.abs(got - want) - np.maximum(relative * np.abs(want), beside)
    i = int(np.nanargmax(np.where(np.isnan(error), np.inf, error)))
    assert error[i] <= 0, f"{name}({x[i]!r}) is {got[i]!r}, should be {want[i]!r}: {abs(got[i] / want[i] - 1):.1e} off"


@pytest.mark.parametrize("name", ONE)
def test_one_argument(call, name):
    reference, draw, relative, beside = ONE[name]
    x = draw(np.random.default_rng(7))
    near(name, call(name, x, x), reference(x), x, relative, beside)


@pytest.mark.parametrize("name", TWO)
def test_two_arguments(call, name):
    reference, left, right, relative = TWO[name]
    rng = np.random.default_rng(7)
    x, y = left(rng), right(rng)
    if name == "fmod":
        x = x.astype(np.float32).astype(np.float64)
    near(name, call(name, x, y), reference(x, y), x, relative, 0)
