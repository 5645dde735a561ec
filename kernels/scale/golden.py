"""Cases of the tail exercises: y = 1.5 x - 0.25 on half, in lengths that come out even and in lengths that do not."""

from __future__ import annotations

import random

import torch

from labkit.exercises import Case, Out

UNIT = 16  # half in 32 bytes
TILE = 256  # of the kernels with a fixed tile


def golden(x):
    """Muls rounds to half, and Adds rounds once more."""
    return x * 1.5 + (-0.25)


def shares(n, blocks, unit=UNIT):
    """First element of each block's share, and the end: whole units, the first blocks take one more, the last ends at
    n.
    """
    each, more = divmod(-(-n // unit), blocks)
    return [min((b * each + min(b, more)) * unit, n) for b in range(blocks + 1)]


def _x(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).half()


def split_cases(seed, quick):
    """(units, blocks): even and uneven, fewer units than blocks, one block. In each case the shares are held
    against ours: 97 on 8 are 13 and seven times 12, and by other rules something else."""
    sizes = ((96, 8), (1, 1), (97, 8), (1000, 7), (103, 8), (5, 8), (127, 48))
    made = []
    for units, blocks in (sizes[2], *sizes[4:]) if quick else sizes:
        x = _x(seed, units * UNIT)
        made.append(
            Case(
                f"units={units} blocks={blocks}",
                (x, Out(x.shape, x.dtype), units * UNIT),
                golden(x),
                blocks=blocks,
                tile=UNIT,
                split=shares(units * UNIT, blocks),
                timed=(units, blocks) == (97, 8),
                budgeted=True,
            )
        )
    return made


def tile_cases(seed, quick):
    """(elements of a block, blocks): less than a tile, whole tiles, whole tiles and a tail of one unit up to one short
    of a tile. A class has tails of any number of units, one behind more tiles than all others have.
    """
    sizes = ((16, 1), (256, 2), (240, 3), (1024, 4), (272, 2), (1008, 3), (2064, 8))
    if seed:
        draw = random.Random(seed)
        tails = (draw.randint(2, 5), draw.randint(6, 10), draw.randint(11, 14))
        many = (draw.randint(100, 400), 0, draw.randint(1, 7))
        sizes = tuple((TILE * tiles + UNIT * tail, draw.randint(1, 8)) for tiles, tail in zip(many, tails)) + sizes
    made = []
    for length, blocks in sizes[2:6] if quick else sizes:
        x = _x(seed, length * blocks)
        made.append(Case(f"length={length}", (x, Out(x.shape, x.dtype), length), golden(x), blocks=blocks, tile=TILE))
    return made


def row_cases(seed, quick):
    """(rows, width, blocks); widths around the unit, the repeat, and a single element."""
    sizes = ((1, 1, 1), (9, 7, 2), (4, 16, 1), (6, 31, 3), (5, 33, 2), (13, 126, 4), (7, 1000, 1), (64, 2047, 8))
    if seed:  # of a class: up to what the UB holds in four buffers
        sizes += tuple(
            (3, random.Random(seed + i).randrange(least, 2 * least) | 1, 2) for i, least in enumerate((2048, 9000))
        )
    made = []
    for rows, width, blocks in sizes[3:6] if quick else sizes:
        x = _x(seed, rows, width)
        made.append(
            Case(
                f"{rows} rows of {width}",
                (x, Out(x.shape, x.dtype), rows, width),
                golden(x),
                blocks=blocks,
                tile=width,
                layout="interleaved",
            )
        )
    return made


def share_cases(seed, quick):
    """(n, blocks) with the table of shares that the kernel reads. A tail is at least a unit long, and
    two tiles stand before it: with less, the buffer would be new, and the checks or a NaN would tell."""
    sizes = ((4096, 8), (4112, 8), (8203, 8), (48, 1), (1021, 1), (1999, 2), (5003, 4), (20011, 8))
    made = []
    for n, blocks in sizes[1:5] if quick else sizes:
        x, cuts = _x(seed, n), shares(n, blocks)
        table = torch.tensor([[a, b - a] for a, b in zip(cuts, cuts[1:])], dtype=torch.int32)
        made.append(Case(f"n={n}", (x, Out(x.shape, x.dtype), table), golden(x), blocks=blocks, tile=TILE, split=cuts))
    return made


def property_cases(seed, quick):
    """Tilings, good and bad, with the promise that each breaks."""

    def pieces(n, blocks, unit):
        cuts = shares(n, blocks, unit)
        return [(a, b - a) for a, b in zip(cuts, cuts[1:])]

    good, late = pieces(10000, 8, 16), pieces(1000, 4, 16)
    asked = [
        ("a good one", good, 10000, 16, ""),
        ("in another order", good[::-1], 10000, 16, ""),
        ("ends inside a unit", pieces(10005, 8, 16), 10005, 16, ""),
        ("idle cores", [(0, 16), (16, 4), (20, 0), (20, 0)], 20, 16, ""),
        ("n / cores", [(i * 1250, 1250) for i in range(8)], 10000, 16, "unit"),
        ("float, whole units of 8", [(0, 24), (24, 24), (48, 8)], 56, 8, ""),
        ("the same for half", [(0, 24), (24, 24), (48, 8)], 56, 16, "unit"),
        ("rounds down", [(i * 240, 240) for i in range(4)], 1000, 16, "gap"),
        ("one core is missing", late[:1] + late[2:], 1000, 16, "gap"),
        ("rounds up", [(i * 256, 256) for i in range(4)], 1000, 16, "overlap"),
        ("starts one unit early", [(0, 256), (240, 256), (496, 504)], 1000, 16, "overlap"),
        ("starts one element late", [(0, 256), (257, 743)], 1000, 16, "gap"),
        ("does not start at 0", [(16, 984)], 1000, 16, "gap"),
        ("a short gap, up to a whole unit", [(0, 20), (32, 32)], 64, 16, "gap"),
        ("a share inside another one", [(0, 512), (128, 64), (512, 488)], 1000, 16, "overlap"),
        ("bytes, whole units of 32", [(0, 96), (96, 64), (160, 40)], 200, 32, ""),
        ("whole units of half, not of bytes", [(0, 48), (48, 152)], 200, 32, "unit"),
    ]
    return [Case(name, (list(p), n, unit), want) for name, p, n, unit, want in asked]
