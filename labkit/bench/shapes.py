"""Shapes to measure and to test with, drawn by a seed: the extremes first, then the space between them.

A kernel that is fast at (32, 512, 28, 28) says nothing about (1, 1, 1, 1). The same seed gives the same shapes on every
machine and in every version of Python (random.Random's random(), whose sequence is fixed).
"""

from __future__ import annotations

import math
import random

from labkit import messages

_BLOCK = 32  # bytes of a block of the UB: what is no multiple of it is a tail
_PRIMES = (3, 7, 13, 31, 61, 127, 251, 509, 1021, 2039, 4093, 8191, 16381, 32749, 65521)


def extremes(rank: int = 4, *, most: int = 1 << 24, itemsize: int = 2) -> list[tuple[int, ...]]:
    """The shapes at the edges: [1,1,1,1]; all odd; one dimension huge and the others 1, for each dimension; the last
    dimension one element below, at and above a block of 32 bytes; all dimensions prime; as large as allowed.
    most: elements at most. Raises ValueError."""
    _check(rank, most)
    ones, side = (1,) * rank, max(1, int(most ** (1 / rank) + 1e-9))
    odd = max(1, side - 1 + side % 2)
    prime = max((p for p in _PRIMES if p <= side), default=1)
    block = max(1, _BLOCK // itemsize)
    found = [ones, *(ones[:i] + (most,) + ones[i + 1 :] for i in range(rank))]
    found += [ones[:-1] + (n,) for n in (block - 1, block, block + 1) if 1 < n <= most]
    found += [(min(3, odd),) * rank, (odd,) * rank, (prime,) * rank, (side,) * rank]
    return list(dict.fromkeys(shape for shape in found if math.prod(shape) <= most))


def draw(
    count: int, rank: int = 4, *, seed: int = 0, most: int = 1 << 24, itemsize: int = 2, edges: bool = True
) -> list[tuple[int, ...]]:
    """`count` different shapes: the extremes (edges=False: without them), then sizes drawn evenly on a logarithmic
    scale, half of them odd; a third of the shapes keeps its last dimension a whole number of 32-byte blocks.
    Raises ValueError where the space is too small for so many."""
    _check(rank, most)
    found = dict.fromkeys(extremes(rank, most=most, itemsize=itemsize)[:count] if edges else [])
    source, block = random.Random(seed), max(1, _BLOCK // itemsize)
    for _ in range(1000 * count):
        if len(found) >= count:
            break
        # the elements first, then how they are dealt out to the dimensions: else most shapes would be huge
        left, dims = source.random() * math.log2(most), []
        for i in range(rank - 1, 0, -1):
            part = left * (1 - source.random() ** (1 / i))
            left -= part
            dims.append(max(1, round(2**part)))
        dims.append(max(1, round(2**left)))
        for i in range(rank - 1, 0, -1):  # in any order
            j = int(source.random() * (i + 1))
            dims[i], dims[j] = dims[j], dims[i]
        kind = int(source.random() * 6)
        if kind < 3:
            dims = [n if n % 2 else n + 1 for n in dims]
        elif kind < 5:
            dims[-1] = -(-dims[-1] // block) * block
        if math.prod(dims) <= most:
            found[tuple(dims)] = None
    if len(found) < count:
        raise ValueError(messages.text("bench.shapes.few", count=count, most=most))
    return list(found)


def _check(rank: int, most: int) -> None:
    if not (1 <= rank <= 8 and most >= 1):
        raise ValueError(messages.text("bench.shapes.limits"))
