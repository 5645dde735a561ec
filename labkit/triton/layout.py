"""How a tile lies in UB: the rule of labkit.codegen, a row begins at a multiple of 64 elements, whatever its type.

So an instruction takes all rows of a tile at once, a repeat of the vector unit never holds two rows, a row of every
type begins at 32 bytes, and a cast keeps the layout. Dimensions of one lane do not count: a column [N, 1] and a row
[1, N] are N elements one behind the other.
"""

from __future__ import annotations

import math

from labkit.codegen.places import LANES as LINE
from labkit.codegen.places import up
from labkit.triton.forms import SIZE

LEAST = 128  # elements of the smallest tile: comparisons of half want 256 bytes


def wide_dims(stored: tuple[int, ...]) -> list[int]:
    return [d for d, n in enumerate(stored) if n > 1]


def rows(stored: tuple[int, ...]) -> int:
    dims = wide_dims(stored)
    return math.prod(stored[d] for d in dims[:-1])


def width(stored: tuple[int, ...]) -> int:
    dims = wide_dims(stored)
    return stored[dims[-1]] if dims else 1


def pitch(stored: tuple[int, ...]) -> int:
    """Elements from row to row; of a single row its own length."""
    return up(width(stored), LINE) if rows(stored) > 1 else width(stored)


def count(stored: tuple[int, ...]) -> int:
    """Elements that an instruction takes for the whole tile, with what lies between the rows."""
    return rows(stored) * pitch(stored)


def whole(stored: tuple[int, ...]) -> int:
    """The same in whole repeats, for comparisons and bits."""
    return up(count(stored), LEAST)


def size(stored: tuple[int, ...], elem: str) -> int:
    """Bytes."""
    return up(whole(stored) // 8, 32) if elem == "i1" else whole(stored) * SIZE[elem]


def flat(stored: tuple[int, ...], lanes: list[str]) -> str:
    """The element of a tile at these lanes, as C++."""
    dims = wide_dims(stored)
    if not dims:
        return "0"
    if len(dims) == 1:
        return lanes[dims[0]]
    row = lanes[dims[0]]
    for d in dims[1:-1]:
        row = f"({row} * {stored[d]} + {lanes[d]})"
    return f"{row} * {pitch(stored)} + {lanes[dims[-1]]}"
