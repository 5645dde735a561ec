"""Triton kernels of the language beyond floats: integers of every width, scans, orders, atomics."""

from __future__ import annotations

import triton
import triton.language as tl
import triton.language.extra.cann.extension as extension
import triton.language.extra.cann.libdevice as libdevice


@triton.jit
def whole(x, y, out, n, BLOCK: tl.constexpr):
    """Twelve operations on integers, each a row of out."""
    at = tl.arange(0, BLOCK)
    inside = at < n
    a, b = tl.load(x + at, mask=inside, other=1), tl.load(y + at, mask=inside, other=1)
    tl.store(out + at, a + b, mask=inside)
    tl.store(out + n + at, a * b, mask=inside)
    tl.store(out + 2 * n + at, a // b, mask=inside)
    tl.store(out + 3 * n + at, a % b, mask=inside)
    tl.store(out + 4 * n + at, (a & b) | (a ^ 5), mask=inside)
    tl.store(out + 5 * n + at, a ^ b, mask=inside)
    tl.store(out + 6 * n + at, a << 2, mask=inside)
    tl.store(out + 7 * n + at, a >> 1, mask=inside)
    tl.store(out + 8 * n + at, tl.where(a < b, a, b - 1), mask=inside)
    tl.store(out + 9 * n + at, tl.maximum(a, b), mask=inside)
    tl.store(out + 10 * n + at, (a.to(tl.float32) * 0.5).to(a.dtype), mask=inside)
    tl.store(out + 11 * n + at, (a.to(tl.int32) * 3).to(a.dtype), mask=inside)


@triton.jit
def chance(out, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.randint(seed, at))
    tl.store(out + 2 * BLOCK + at, tl.umulhi(at * 0x1234567, at * -0x765432 + seed))
    tl.store(out + 4 * BLOCK + at, tl.rand(seed, at).to(tl.int32, bitcast=True))


@triton.jit
def best(x, most, least, HIGH: tl.constexpr, WIDE: tl.constexpr, AXIS: tl.constexpr):
    r, c = tl.arange(0, HIGH), tl.arange(0, WIDE)
    v = tl.load(x + r[:, None] * WIDE + c[None, :])
    to = c if AXIS == 0 else r
    tl.store(most + to, tl.argmax(v, AXIS))
    value, where = tl.min(v, AXIS, return_indices=True)
    tl.store(least + to, value + where)


@triton.jit
def recurrence(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def total(a1, b1, a2, b2):
    return a1 + a2, b1 * b2


@triton.jit
def scans(x, sums, products, states, both, HIGH: tl.constexpr, WIDE: tl.constexpr):
    r, c = tl.arange(0, HIGH), tl.arange(0, WIDE)
    at = r[:, None] * WIDE + c[None, :]
    v = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(v, 1) + tl.cumsum(v, 0, reverse=True))
    tl.store(products + at, tl.cumprod(v, 0))
    decay, state = tl.associative_scan((v * 0 + 0.5, v), 1, recurrence)
    tl.store(states + at, state + decay)
    s, p = tl.reduce((v, v), 1, total)
    tl.store(both + r, s + p)


@triton.jit
def of_one(x, out, HIGH: tl.constexpr, WIDE: tl.constexpr, AXIS: tl.constexpr, WAY: tl.constexpr):
    """Reductions of whole numbers and of bits along one of two axes, of which one may be of length 1."""
    r, c = tl.arange(0, HIGH), tl.arange(0, WIDE)
    v = tl.load(x + r[:, None] * WIDE + c[None, :])
    if WAY == "sum":
        made = tl.reduce(v, AXIS, plus)
    elif WAY == "min":
        made = tl.reduce(v, AXIS, smaller)
    elif WAY == "max":
        made = tl.reduce(v, AXIS, larger)
    elif WAY == "any":
        made = tl.reduce(v > 0, AXIS, either)
    else:
        made = tl.reduce(v > 0, AXIS, as_well)
    tl.store(out + (c if AXIS == 0 else r), made.to(x.dtype.element_ty))


@triton.jit
def both_ends(x, most, least, HIGH: tl.constexpr, WIDE: tl.constexpr):
    r = tl.arange(0, HIGH)
    v = tl.load(x + r[:, None] * WIDE + tl.arange(0, WIDE)[None, :])
    tl.store(most + r, tl.reduce(v, 1, larger))
    tl.store(least + r, tl.reduce(v, 1, smaller))


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def short_sums(x, rows, first, HIGH: tl.constexpr, WIDE: tl.constexpr):
    """Of each row, and of the first row alone."""
    r, i = tl.arange(0, HIGH), tl.arange(0, WIDE)
    tl.store(rows + r, tl.reduce(tl.load(x + r[:, None] * WIDE + i[None, :]), 1, plus).to(tl.int32))
    tl.store(first, tl.reduce(tl.load(x + i), 0, plus).to(tl.int32))


@triton.jit
def smaller(a, b):
    return tl.minimum(a, b)


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def either(a, b):
    return a | b


@triton.jit
def as_well(a, b):
    return a & b


# The pattern that the vector unit's largest and smallest one are recognised by, and what only looks like it


@triton.jit
def larger_or_nan(a, b):
    return tl.where((a > b) | (a != a), a, b)


@triton.jit
def smaller_or_nan(a, b):
    return tl.where((a < b) | (a != a), a, b)


@triton.jit
def turned(a, b):
    return tl.where((a > b) | (a != a), b, a)


@triton.jit
def not_less(a, b):
    return tl.where((a >= b) | (a != a), a, b)


@triton.jit
def compared_backwards(a, b):
    return tl.where((b > a) | (a != a), a, b)


@triton.jit
def nan_of_the_other(a, b):
    return tl.where((a > b) | (b != b), a, b)


@triton.jit
def equal_to_itself(a, b):
    return tl.where((a > b) | (a == a), a, b)


@triton.jit
def the_last_twice(a, b):
    return b + b


@triton.jit
def the_first(a, b):
    return a


@triton.jit
def by_a_function(x, out, N: tl.constexpr, WAY: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    if WAY == "larger_or_nan":
        made = tl.reduce(v, 0, larger_or_nan)
    elif WAY == "smaller_or_nan":
        made = tl.reduce(v, 0, smaller_or_nan)
    elif WAY == "turned":
        made = tl.reduce(v, 0, turned)
    elif WAY == "not_less":
        made = tl.reduce(v, 0, not_less)
    elif WAY == "compared_backwards":
        made = tl.reduce(v, 0, compared_backwards)
    elif WAY == "nan_of_the_other":
        made = tl.reduce(v, 0, nan_of_the_other)
    elif WAY == "equal_to_itself":
        made = tl.reduce(v, 0, equal_to_itself)
    elif WAY == "the_last_twice":
        made = tl.reduce(v, 0, the_last_twice)
    elif WAY == "the_first":
        made = tl.reduce(v, 0, the_first)
    tl.store(out, made)


@triton.jit
def the_last_down(x, out, HIGH: tl.constexpr, WIDE: tl.constexpr):
    at = tl.arange(0, HIGH)[:, None] * WIDE + tl.arange(0, WIDE)[None, :]
    tl.store(out + at, tl.associative_scan(tl.load(x + at), 0, the_last_twice))


@triton.jit
def orders(x, out, N: tl.constexpr):
    """Rows of N: sorted, the four largest, turned round, two interleaved, gathered, counted."""
    at = tl.arange(0, N)
    v = tl.load(x + at)
    tl.store(out + at, tl.sort(v))
    tl.store(out + N + tl.arange(0, 4), tl.topk(v, 4))
    tl.store(out + 2 * N + at, tl.flip(v, 0))
    tl.store(out + 3 * N + tl.arange(0, 2 * N), tl.interleave(v, -v))
    tl.store(out + 5 * N + at, tl.gather(v, (at * 7 + 3) % N, 0))
    low, high = tl.split(tl.reshape(v, (N // 2, 2)))
    tl.store(out + 6 * N + tl.arange(0, N // 2), low - high)
    tl.store(out + 7 * N + tl.arange(0, 16), tl.histogram(tl.abs(v).to(tl.int32), 16).to(tl.float32))
    tl.store(out + 8 * N + tl.arange(0, 2 * N), tl.cat(v, v * 2, can_reorder=True))
    turned = tl.permute(tl.reshape(v, (2, 4, N // 8)), (2, 0, 1))
    tl.store(out + 10 * N + at, tl.reshape(turned, (N,)))


@triton.jit
def sorts_down(x, y, HIGH: tl.constexpr, WIDE: tl.constexpr):
    at = tl.arange(0, HIGH)[:, None] * WIDE + tl.arange(0, WIDE)[None, :]
    v = extension.sort(tl.load(x + at), dim=0, descending=True)
    part = extension.extract_slice(v, [2, 4], [4, 8], [1, 1])
    tl.store(y + at, extension.insert_slice(v, part * 100, [0, 8], [4, 8], [1, 1]) + extension.get_element(v, [1, 2]))


@triton.jit
def adds(x, index, out, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside, other=0.0)
    tl.atomic_add(out + tl.arange(0, BLOCK), v, mask=inside)
    tl.atomic_add(out + BLOCK + tl.load(index + at, mask=inside, other=0), v, mask=inside)
    tl.atomic_max(counts + tl.arange(0, BLOCK), v.to(tl.int32), mask=inside)
    tl.atomic_add(counts + BLOCK, 1)
    tl.atomic_min(counts + BLOCK + 1 + tl.zeros([BLOCK], tl.int32), v.to(tl.int32), mask=inside)


@triton.jit
def exchanges(x, old, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < n
    tl.store(old + at, tl.atomic_xor(x + at, 12, mask=inside), mask=inside)
    tl.store(old + n + at, tl.atomic_and(x + at, 9, mask=inside), mask=inside)
    tl.store(old + 2 * n + at, tl.atomic_or(x + at, 64, mask=inside), mask=inside)
    tl.store(
        old + 3 * n + at,
        tl.atomic_cas(x + at, (at * 0 + 64).to(x.dtype.element_ty), at.to(x.dtype.element_ty)),
        mask=inside,
    )
    tl.store(old + 4 * n + at, tl.atomic_add(x + at, at.to(x.dtype.element_ty), mask=inside), mask=inside)
    tl.store(old + 5 * n, tl.atomic_xchg(x, 7))


@triton.jit
def locked(x, sums, lock, seen, width, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    """Rows are summed up in groups, each under its lock; the first of a group does not add."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * width + at, mask=at < width, other=0.0)
    mine = lock + row % GROUP
    to = sums + row % GROUP * width + at
    while tl.atomic_cas(mine, 0, 1) == 1:
        pass
    if tl.load(seen + row % GROUP) == 0:
        tl.atomic_xchg(seen + row % GROUP, 1)
    else:
        v += tl.load(to, mask=at < width, other=0.0)
    tl.store(to, v, mask=at < width)
    tl.debug_barrier()
    tl.atomic_xchg(mine, 0)


@triton.jit
def masks_that_are_computed(x, flags, y, steps, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside, other=0.0)
    flag = tl.load(flags + at, mask=inside, other=0)
    w = tl.load(x + at, mask=inside & (v > 1.0), other=-v)
    tl.store(y + at, w, mask=inside & flag)
    count, left = 0, n
    while left > 1:
        left = tl.where(left % 2 == 0, left // 2, 3 * left + 1)
        count += 1
    tl.store(steps, count)
    tl.device_assert(count < 1000, "too long")


@triton.jit
def library(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, libdevice.atan2(a, b) + libdevice.log1p(tl.abs(a)) + libdevice.expm1(b * 0.1))
    tl.store(out + N + at, libdevice.rint(a) + libdevice.trunc(b) + libdevice.copysign(a, b))
    tl.store(out + 2 * N + at, libdevice.acos(a * 0.1) + libdevice.pow(tl.abs(a) + 1.0, b) + libdevice.hypot(a, b))
    tl.store(out + 3 * N + at, libdevice.erfinv(a * 0.125) + libdevice.cyl_bessel_i0(b))
    tl.store(out + 4 * N + at, tl.where(libdevice.isnan(a / b), 1.0, 0.0) + tl.where(libdevice.signbit(b), 2.0, 0.0))


@triton.jit
def prints(x, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.device_print("the sum", tl.sum(v, 0))


@triton.jit
def asks_for_an_address(x, y):
    tl.store(y, x.to(tl.int64))


@triton.jit
def narrow(out, n: tl.uint8, m: tl.int8):
    """Numbers of 8 and 16 bits that leave their range; a row of eight for each."""
    at = tl.arange(0, 8)
    tl.store(out + at, (at.to(tl.int8) * 40).to(tl.int64))
    tl.store(out + 8 + at, ((at.to(tl.int16) * 20000) >> 1).to(tl.int64))
    tl.store(out + 16 + at, ((at.to(tl.uint8) - 1) >> 1).to(tl.int64))
    q = (tl.program_id(0) + 100).to(tl.int8)
    tl.store(out + 24, (q + q).to(tl.int64))
    tl.store(out + 25, ((q + q) > 0).to(tl.int64))
    tl.store(out + 26, ((n + n) >> 1).to(tl.int64))
    tl.store(out + 27, (m + m).to(tl.int64))
    tl.store(out + 28, ((m * m) >> 1).to(tl.int64))
    tl.store(out + 29, (at.to(tl.int8) * 3).to(tl.int64).sum(0))


@triton.jit
def corners(x, y, out):
    at = tl.arange(0, 16)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, libdevice.log1p(a))
    tl.store(out + 16 + at, libdevice.hypot(a, b))
    tl.store(out + 32 + at, libdevice.atan2(a, b))


@triton.jit
def gammas(x, out):
    at = tl.arange(0, 16)
    tl.store(out + at, libdevice.gamma(tl.load(x + at)))
