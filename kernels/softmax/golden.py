"""Cases of the row exercises: sums and maxima of rows, softmax over rows, in widths that come out even and in widths
that do not.
"""

from __future__ import annotations

import random

import torch

from labkit.exercises import Case, Out

FEW_STEPS = (2e-5, 1e-6)  # a handful of float instructions and a sum


def _x(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def softmax(x):
    """In double, rounded once."""
    return torch.softmax(x.double(), -1).to(x.dtype)


def _cases(made_of, sizes, seed, quick, few, golden, tolerance=None):
    made = []
    for rows, width, blocks in few if quick else sizes:
        x = made_of(seed, rows, width)
        want = golden(x)
        tile = 1 if want.dim() == 1 else width
        made.append(
            Case(
                f"{rows} rows of {width}",
                (x, Out(want.shape, want.dtype), rows, width),
                want,
                tolerance,
                blocks=blocks,
                tile=tile,
                layout="interleaved",
            )
        )
    return made


def _steep(seed, rows, width):
    """Rows that rise and fall by 300, by turns, so that only their maximum keeps every exponential finite: their first
    element, their smallest and their mean are all more than 88 below it. Each lies elsewhere, from -1000 to 600."""
    ramp = 150 * torch.linspace(-1, 1, width) * (1 - 2 * (torch.arange(rows)[:, None] % 2))
    return _x(seed, rows, width) + ramp + torch.linspace(-1000, 600, rows)[:, None]


def _anywhere(seed, rows, width):
    """Rows of any size that float has, about 4 wide where their digits reach that far: below 0 and above it by turns,
    the first ones in the thousands, the last ones at float's end."""
    g = torch.Generator().manual_seed(seed + 1)
    exponent = torch.linspace(3, 36, rows) + torch.rand(rows, generator=g) * 33 / max(1, rows - 1)
    level = (10**exponent).clamp(max=3e38) * (2 * (torch.arange(rows) % 2) - 1)
    return level[:, None] + 4 * _x(seed, rows, width)


def sum_cases(seed, quick):
    """(rows, width, blocks): one element, around a repeat (64 float), around 64 repeats; one block works row by row. A
    class has rests from all parts of a repeat, behind any number of whole ones, and one in rows enough for any block.
    """
    sizes = ((1, 1, 1), (3, 64, 1), (5, 63, 1), (7, 65, 2), (9, 1000, 3), (4, 4096, 1), (6, 4001, 2))
    if seed:
        draw = random.Random(seed)
        fulls = (0, draw.randint(1, 20), draw.randint(21, 62), 63)
        rests = draw.sample([draw.randint(2 + low, 16 + low) for low in (0, 15, 30, 46)], 4)
        drawn = [(draw.randint(2, 9), 64 * full + rest, draw.randint(1, 4)) for full, rest in zip(fulls, rests)]
        sizes = (*drawn, (draw.randint(100, 300), draw.randint(66, 126), draw.randint(1, 3)), *sizes)
    return _cases(
        lambda *a: 0.5 + _x(*a), sizes, seed, quick, sizes[-6:-2], lambda x: x.double().sum(-1).float(), (2e-5, 1e-4)
    )


def short_cases(seed, quick):
    """(rows, width): rows of at most a repeat, on one block; up to the 255 repeats that one instruction takes."""
    sizes = ((1, 8), (5, 64), (16, 40), (255, 8), (7, 61), (100, 33), (255, 64), (31, 1))
    made = []
    for rows, width in (*sizes[1:4], sizes[5], sizes[6]) if quick else sizes:
        x = _x(seed, rows, width) - 2
        want = x.max(-1).values
        args, timed = (x, Out(want.shape, want.dtype), rows, width), (rows, width) == (255, 64)
        made.append(Case(f"{rows} rows of {width}", args, want, blocks=1, tile=rows, timed=timed))
    return made


def row_cases(seed, quick):
    """(rows, width, blocks); the values reach 88 and more, where exp alone is infinite."""
    sizes = ((1, 1, 1), (9, 61, 2), (8, 64, 8), (5, 1000, 1), (6, 33, 3), (4, 4099, 2))
    made = _cases(lambda *a: 4 * _x(*a) + 100, sizes, seed, quick, sizes[1:4], softmax, FEW_STEPS)
    steep, far = ((4, 200, 2),), ((12, 68, 3),)
    if seed:  # of a class
        made = _cases(_anywhere, far, seed, quick, far, softmax, FEW_STEPS) + made
    return _cases(_steep, steep, seed, quick, steep, softmax, FEW_STEPS) + made


def half_cases(seed, quick):
    """Rows of half. Many elements of a row matter, so that a sum in half is off by more than a rounding."""
    sizes = ((1, 16, 1), (5, 100, 2), (3, 1000, 1), (4, 4099, 2), (2, 8000, 1))
    return _cases(
        lambda s, r, w: (0.5 * _x(s, r, w) - 0.01 * torch.arange(r)[:, None]).half(),
        sizes,
        seed,
        quick,
        sizes[1:4],
        softmax,
        (6e-4, 2e-7),
    )


def wide_cases(seed, quick):
    """Rows of several chunks. The maximum lies in the first chunk, in the last, and somewhere; all far from 0. At the
    end two that are steep: neither the first chunk's maximum nor a constant will do for all of a row."""
    sizes = ((1, 100, 1), (3, 4096, 1), (2, 5001, 1), (4, 12288, 2), (3, 20011, 1))
    made = []
    for rows, width, blocks in (sizes[1:4] if quick else sizes) + ((2, 9000, 1),):
        slope = torch.linspace(-12, 12, rows)[:, None] if rows > 1 else torch.tensor([[9.0]])
        x = 3 * _x(seed, rows, width) + slope * torch.linspace(-1, 1, width) - 40
        x = _steep(seed, rows, width) if width == 9000 else x
        made.append(
            Case(
                f"{rows} rows of {width}",
                (x, Out(x.shape, x.dtype), rows, width),
                softmax(x),
                (1e-4, 1e-9),
                blocks=blocks,
                tile=width,
                layout="interleaved",
            )
        )
    return made


def masked_cases(seed, quick):
    """Rows around 0 and far below it, as a mask leaves them; widths that fill their last 32 bytes and widths that do
    not.
    """
    sizes = ((4, 64, 2), (6, 61, 2), (3, 1000, 1), (5, 33, 2), (7, 777, 3))
    made = _cases(
        lambda s, r, w: 2 * _x(s, r, w) - 50 * torch.arange(r)[:, None],
        sizes,
        seed,
        quick,
        sizes[:3],
        softmax,
        FEW_STEPS,
    )
    return made + _cases(_steep, ((4, 13, 2),), seed, quick, ((4, 13, 2),), softmax, FEW_STEPS)
