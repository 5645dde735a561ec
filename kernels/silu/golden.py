"""Cases of the pipe exercises: y = x / (1 + exp(-x)) on float."""

from __future__ import annotations

import random

import torch

from labkit.exercises import Case, Out

TILE = 4096
TOLERANCE = (2e-5, 1e-6)  # four instructions, each rounded to float


def golden(x):
    """In double, rounded once."""
    wide = x.double()
    return (wide / (1 + torch.exp(-wide))).float()


def _x(seed, n):
    return 3 * torch.randn(n, generator=torch.Generator().manual_seed(seed))


def tile_cases(seed, quick):
    """(tiles of a block, blocks); the one of 16 on one block is timed, so that no other core takes part in GM. In a
    class a longer one has to keep the budget, too."""
    sizes = ((1, 1), (2, 2), (3, 1), (5, 3), (4, 8), (16, 1))
    longer = ((random.Random(seed).randint(150, 300), 1),) if seed else ()
    made = []
    for tiles, blocks in (*longer, *((sizes[0], sizes[2], sizes[-1]) if quick else sizes)):
        x = _x(seed, tiles * blocks * TILE)
        made.append(
            Case(
                f"tiles={tiles} blocks={blocks}",
                (x, Out(x.shape, x.dtype), tiles),
                golden(x),
                TOLERANCE,
                blocks=blocks,
                tile=TILE,
                timed=tiles == 16,
                budgeted=tiles > 16,
            )
        )
    return made


def case_cases(seed, quick):
    """The five lengths of the case and three more, on one block. A class has one far longer, of hundreds of tiles and a
    tail; the last one is timed."""
    sizes = (1000, 8192, 10000, 70000) if quick else (1, 1000, 5000, 8192, 8193, 10000, 12287, 70000)
    longer = TILE * random.Random(seed).randint(100, 300) + random.Random(seed + 1).randint(1, TILE - 1)
    made = []
    for n in (longer, *sizes) if seed else sizes:
        x = _x(seed, n)
        made.append(Case(f"n={n}", (x, Out(x.shape, x.dtype), n), golden(x), TOLERANCE, blocks=1, tile=TILE))
    return made
