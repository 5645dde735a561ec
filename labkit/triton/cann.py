"""What kernels for this chip import beside tl: triton.language.extra.cann.libdevice and .extension; and tl.sort,
tl.topk and tl.flip, which upstream builds from exchanges in a cube of two lanes a side: here they are one operation.

Triton's front end reads these functions; `ascendc_...` are names that labkit.triton.elementwise and rearrange lower.
"""

from __future__ import annotations

from types import ModuleType

import triton
import triton.language as tl
from triton.language import core

UNARY = (
    "acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfc exp exp2 fabs floor lgamma log log10 log2 "
    "rint nearbyint round rsqrt sin sinh sqrt tan tanh trunc"
).split()


def _extern(name: str, count: int):
    if count == 1:

        @core.extern
        def function(x, _semantic=None):
            return _call(name, [x], _semantic)
    else:

        @core.extern
        def function(x, y, _semantic=None):
            return _call(name, [x, y], _semantic)

    function.__name__ = name
    return function


def _call(symbol: str, args: list, semantic):
    args = [semantic.to_tensor(a) for a in args]
    types = tuple(a.dtype for a in args)
    return core.extern_elementwise("", "", args, {types: (symbol, types[0])}, is_pure=True, _semantic=semantic)


# ---- libdevice: from others


@triton.jit
def log1p(x):
    v = x.to(tl.float32)
    u = 1.0 + v
    part = v / tl.where(u == 1.0, 1.0, u - 1.0)  # first: the product with v itself would overflow
    return tl.where((u == 1.0) | (v == float("inf")), v, tl.log(u) * part).to(x.dtype)


@triton.jit
def expm1(x):
    v = x.to(tl.float32)
    u = tl.exp(v)
    near = (u == 1.0) | (tl.abs(v) > 1.0) | (u <= 0.0)
    exact = (u - 1.0) * v / tl.where(near, 1.0, tl.log(tl.where(near, 2.0, u)))
    return tl.where(u == 1.0, v, tl.where(near, u - 1.0, exact)).to(x.dtype)


@triton.jit
def reciprocal(x):
    return (1.0 / x.to(tl.float32)).to(x.dtype)


@triton.jit
def relu(x):
    return tl.maximum(x, 0.0).to(x.dtype)


@triton.jit
def isnan(x):
    return x != x


@triton.jit
def isinf(x):
    return tl.abs(x.to(tl.float32)) == float("inf")


@triton.jit
def isfinited(x):
    return tl.abs(x.to(tl.float32)) < float("inf")


@triton.jit
def finitef(x):
    return tl.abs(x.to(tl.float32)) < float("inf")


@triton.jit
def signbit(x):
    return x.to(tl.float32).to(tl.int32, bitcast=True) < 0


@triton.jit
def copysign(x, y):
    size = tl.abs(x.to(tl.float32))
    return tl.where(y.to(tl.float32).to(tl.int32, bitcast=True) < 0, -size, size).to(x.dtype)


@triton.jit
def hypot(x, y):
    a, b = tl.abs(x.to(tl.float32)), tl.abs(y.to(tl.float32))
    large, small = tl.maximum(a, b), tl.minimum(a, b)
    part = small / tl.where(large == 0.0, 1.0, large)
    infinite = (a == float("inf")) | (b == float("inf"))  # whatever the other is, NaN too
    return tl.where(infinite, float("inf"), large * tl.sqrt(1.0 + part * part)).to(x.dtype)


@triton.jit
def pow(x, y):
    return _power(x, y)


@triton.jit
def fast_dividef(x, y):
    return x / y


@triton.jit
def div_rz(x, y):
    return x / y


@triton.jit
def fast_expf(x):
    return tl.exp(x.to(tl.float32)).to(x.dtype)


@triton.jit
def gamma(x):
    """By the logarithm; below zero by reflection, where whole numbers have no value."""
    v = x.to(tl.float32)
    up = tl.exp(lgamma(tl.where(v > 0.0, v, 1.0 - v)))
    pi = 3.14159265358979
    below = tl.where(v == floor(v), float("nan"), pi / (tl.sin(pi * v) * up))
    return tl.where(v > 0.0, up, tl.where(v == 0.0, 1.0 / v, below)).to(x.dtype)


@triton.jit
def atan2(y, x):
    a, b = y.to(tl.float32), x.to(tl.float32)
    below, left = a.to(tl.int32, bitcast=True) < 0, b.to(tl.int32, bitcast=True) < 0
    corner = (tl.abs(a) == float("inf")) & (tl.abs(b) == float("inf"))
    t = atan(tl.where(corner, tl.where(a == b, 1.0, tl.where(a == -b, -1.0, 0.0)), a / tl.where(b == 0.0, 1.0, b)))
    pi = 3.14159265358979
    t = tl.where(b < 0.0, tl.where(below, t - pi, t + pi), t)
    half = tl.where(a > 0.0, pi / 2, tl.where(a < 0.0, -pi / 2, a))  # +0, -0 or NaN as it is
    half = tl.where((a == 0.0) & left, tl.where(below, -pi, pi), half)
    return tl.where(b == 0.0, half, t).to(y.dtype)


@triton.jit
def cyl_bessel_i0(x):
    """Abramowitz and Stegun 9.8.1 and 9.8.2."""
    v = tl.abs(x.to(tl.float32))
    t = v / 3.75
    t = t * t
    near = 1.0 + t * (3.5156229 + t * (3.0899424 + t * (1.2067492 + t * (0.2659732 + t * (0.0360768 + t * 0.0045813)))))
    s = 3.75 / tl.maximum(v, 3.75)
    far = 0.00916281 + s * (-0.02057706 + s * (0.02635537 + s * (-0.01647633 + s * 0.00392377)))
    far = 0.39894228 + s * (0.01328592 + s * (0.00225319 + s * (-0.00157565 + s * far)))
    return tl.where(v <= 3.75, near, tl.exp(v) / tl.sqrt(tl.maximum(v, 1.0)) * far).to(x.dtype)


@triton.jit
def erfinv(x):
    """M. Giles, Approximating the erfinv function: two polynomials of -log(1 - x^2)."""
    v = x.to(tl.float32)
    w = -tl.log((1.0 - v) * (1.0 + v))
    a = w - 2.5
    p = 2.81022636e-08 * a + 3.43273939e-07
    p = -3.5233877e-06 + p * a
    p = -4.39150654e-06 + p * a
    p = 0.00021858087 + p * a
    p = -0.00125372503 + p * a
    p = -0.00417768164 + p * a
    p = 0.246640727 + p * a
    p = 1.50140941 + p * a
    b = tl.sqrt(tl.maximum(w, 5.0)) - 3.0
    q = -0.000200214257 * b + 0.000100950558
    q = 0.00134934322 + q * b
    q = -0.00367342844 + q * b
    q = 0.00573950773 + q * b
    q = -0.0076224613 + q * b
    q = 0.00943887047 + q * b
    q = 1.00167406 + q * b
    q = 2.83297682 + q * b
    r = tl.where(w < 5.0, p, q) * v
    r = tl.where(tl.abs(v) == 1.0, v * float("inf"), r)
    return r.to(x.dtype)


@triton.jit
def nextafter(x, y):
    bits = x.to(tl.int32, bitcast=True)
    away = (y > x) == (x > 0)
    step = tl.where(away, bits + 1, bits - 1)
    least = tl.where(y > x, 1, -2147483647)
    moved = tl.where(x == 0.0, least, step).to(tl.float32, bitcast=True)
    return tl.where(x == y, y, tl.where((x != x) | (y != y), x + y, moved))


# ---- extension: slices by tl.gather, hints that mean nothing here


def _along(numbers, shape: list, axis: int, semantic):
    """A row of numbers as an index along an axis."""
    for d in range(len(shape)):
        if d != axis:
            numbers = semantic.expand_dims(numbers, d)
    return semantic.broadcast_impl_shape(numbers, shape)


def _plain(x):
    return getattr(x, "value", x)


def _picked(x, numbers, axis: int, count: int, semantic):
    shape = [int(_plain(n)) for n in x.shape]
    shape[axis] = count
    return semantic.gather(x, _along(numbers, shape, axis, semantic), axis)


@core.builtin
def extract_slice(ful, offsets, sizes, strides, _semantic=None, _generator=None):
    for d, (offset, size, stride) in enumerate(zip(offsets, sizes, strides)):
        at = core.arange(0, int(_plain(size)), _semantic=_semantic)
        at = _semantic.add(
            _semantic.mul(at, _semantic.to_tensor(int(_plain(stride))), True), _number(offset, _semantic), True
        )
        ful = _picked(ful, at, d, int(_plain(size)), _semantic)
    return ful


def _number(x, semantic):
    x = semantic.to_tensor(_plain(x))
    return semantic.cast(x, core.int32)


@core.builtin
def insert_slice(ful, sub, offsets, sizes, strides, _semantic=None, _generator=None):
    s, inside = _semantic, None
    shape = [int(_plain(n)) for n in ful.shape]
    for d, (offset, size, stride) in enumerate(zip(offsets, sizes, strides)):
        size, stride = int(_plain(size)), s.to_tensor(int(_plain(stride)))
        lane = s.sub(core.arange(0, shape[d], _semantic=s), _number(offset, s), True)
        at = s.floordiv(lane, stride)
        zero = s.to_tensor(0)
        here = s.and_(s.greater_equal(lane, zero), s.less_than(at, s.to_tensor(size)))
        here = s.and_(here, s.equal(s.mod(lane, stride), zero))
        sub = _picked(sub, s.where(here, at, zero), d, shape[d], s)
        here = _along(here, shape, d, s)
        inside = here if inside is None else s.and_(inside, here)
    return s.where(inside, sub, ful)


@core.builtin
def get_element(src, indice, _semantic=None, _generator=None):
    for d, index in enumerate(indice):
        at = _semantic.broadcast_impl_shape(_semantic.splat(_number(index, _semantic), [1]), [1])
        src = _picked(src, at, d, 1, _semantic)
    return _semantic.unsplat(src)


@core.builtin
def compile_hint(ptr, hint_name, hint_val=None, _semantic=None):
    return None


@core.builtin
def multibuffer(src, size, _semantic=None):
    return None


class parallel(core.range):
    """tl.range under another name: programs are what runs in parallel here."""

    def __init__(self, arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, bind_sub_block=False):
        super().__init__(arg1, arg2, step)


@core.builtin
def _sorted(x, axis, down, _semantic=None):
    axis = int(_plain(axis))
    axis += len(x.shape) if axis < 0 else 0
    return _call(f"ascendc_sort_{'down' if _plain(down) else 'up'}_{axis}", [x], _semantic)


@core.builtin
def sort(x, dim=-1, descending=False, _semantic=None):
    """Along any dimension, which upstream's tl.sort does only for the last."""
    dim = -1 if _plain(dim) is None else dim
    return _sorted(x, dim, descending, _semantic=_semantic)


@core.builtin
def topk(x, k, dim=None, _semantic=None):
    axis, k = len(x.shape) - 1 if _plain(dim) is None else int(_plain(dim)) % len(x.shape), int(_plain(k))
    first = core.arange(0, k, _semantic=_semantic)
    return _picked(_sorted(x, axis, True, _semantic=_semantic), first, axis, k, _semantic)


@core.builtin
def flip(x, dim=-1, _semantic=None):
    axis = (len(x.shape) - 1 if _plain(dim) is None else int(_plain(dim))) % len(x.shape)
    n = int(_plain(x.shape[axis]))
    back = _semantic.sub(_semantic.to_tensor(n - 1), core.arange(0, n, _semantic=_semantic), True)
    return _picked(x, back, axis, n, _semantic)


@core.builtin
def cast(input, dtype, fp_downcast_rounding=None, bitcast=False, overflow_mode=None, _semantic=None):
    return core.cast(input, dtype, fp_downcast_rounding, bitcast, _semantic=_semantic)


def libentry():
    """Of triton.runtime.libentry: a quicker way to launch, which is not needed here."""
    return lambda function: function


_here = globals()
for _name in UNARY:
    _here[_name] = _extern("ascendc_" + _name, 1)
atan, floor, lgamma = _here["atan"], _here["floor"], _here["lgamma"]
_power, fmod = _extern("ascendc_pow", 2), _extern("ascendc_fmod", 2)
EXTENSION = ("insert_slice extract_slice get_element compile_hint multibuffer parallel sort flip cast atan2 isfinited "
             "finitef").split()  # fmt: skip
LIBDEVICE = [*UNARY, *(
    "log1p expm1 reciprocal relu isnan isinf isfinited finitef signbit copysign hypot pow fast_dividef div_rz "
    "fast_expf gamma atan2 cyl_bessel_i0 erfinv nextafter fmod").split()]  # fmt: skip


def fill(module: ModuleType) -> None:
    """The names of triton.language.extra.cann, .libdevice or .extension."""
    names = {"libdevice": LIBDEVICE, "extension": EXTENSION, "libentry": ["libentry"]}.get(
        module.__name__.rsplit(".", 1)[1], ()
    )
    for name in names:
        setattr(module, name, _here[name])


def libdevice() -> ModuleType:
    """triton.language.extra.libdevice, as public kernels and Inductor call it: CUDA's, whose symbols
    labkit.triton.elementwise knows or refuses, with the functions above where it knows none.
    """
    from triton.language.extra.cuda import libdevice as cuda

    from labkit.triton.elementwise import RULES

    module = ModuleType("labkit.triton.cann.libdevice")
    module.__dict__.update({k: v for k, v in vars(cuda).items() if not k.startswith("__")})
    for name in LIBDEVICE:
        if f"libdevice.{name}" not in RULES:
            setattr(module, name, _here[name])
    return module


def language() -> ModuleType:
    """tl, with our own sort, topk and flip, for Triton's front end."""
    module = ModuleType("labkit.triton.cann.tl")
    module.__dict__.update({k: v for k, v in vars(tl).items() if not k.startswith("__")})
    module.sort, module.topk, module.flip = sort, topk, flip
    return module
