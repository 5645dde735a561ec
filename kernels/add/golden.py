"""Cases of the add exercises: z = x + y on half, the tiling on the host, and the pair maximum of the detective case.

A case is (blocks, elements of a block, elements of a tile). The kernel of this stage has no tail, so each block is a
whole number of tiles and each tile a whole number of 32-byte units; the smallest case is a single unit.
"""

from __future__ import annotations

import random
import re

import torch

from labkit import messages
from labkit.exercises import Case, Out

SIZES = (
    (1, 16, 16),
    (1, 8192, 2048),
    (2, 5 * 48, 48),
    (3, 7 * 112, 112),
    (7, 6 * 80, 80),
    (8, 8192, 2048),
    (48, 1280, 256),
)
QUICK = ((1, 16, 16), (3, 7 * 112, 112), (8, 8192, 2048))
TIMED = (8, 8192, 2048)
FULL = (1, 2 * 15_696, 15_696)  # the longest tile whose six buffers fit the usable part of UB


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def broken(text):
    """add.asc with a mistake in one line: the patient of notebook 00.01, which look_repair mends."""
    right = "queueZ, BUFFER_NUM, tileLength * sizeof(half)"
    assert right in text
    return text.replace(right, "queueZ, BUFFER_NUM, tileLength")


def cases(seed, quick):
    """x + y, rounded once to half as the vector unit does it. A class has tiles beyond those that a learner saw, up to
    the longest that fits, and more of them in a block."""
    draw = random.Random(seed)
    longer = (1, 2 * 15_696, 15_696), (3, 2 * (long := 16 * draw.randint(129, 980)), long)
    longer += ((draw.randint(1, 3), draw.randint(200, 700) * (short := 16 * draw.randint(2, 9)), short),)
    return _sums(seed, (*(longer if seed else ()), *(QUICK if quick else SIZES)))


def buffer_cases(seed, quick):
    """As `cases`, and a tile that fills UB: a buffer of a fixed length is too short for it, a longer one too long."""
    return _sums(seed, (FULL, *(QUICK if quick else SIZES)))


def buffers_asked(text, builds):
    """That z has BUFFER_NUM buffers: with one all numbers are right, and here no slower. A number that the compiler
    does not know is let pass."""
    begin = text.index("InitBuffer(queueY")
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text[begin : text.index("void Process()")], flags=re.S)
    for many in re.findall(r"InitBuffer\s*\(\s*queueZ\s*,\s*([^,]+),", code):
        behind = f'static_assert(({many}) == %s, "asked");\n    }}\n\n    __aicore__ inline void Process()'
        end = re.search(r"\}\s*__aicore__ inline void Process\(\)", text)
        known, right = (text[: end.start()] + behind % one + text[end.end() :] for one in (f"({many})", "BUFFER_NUM"))
        if builds(known, "add_custom") and not builds(right, "add_custom"):
            return say(
                f"queueZ has {many} instead of BUFFER_NUM buffers: while one tile is copied out, the next one needs a "
                "place.",
                f"queueZ 的缓冲区个数是 {many}，而不是 BUFFER_NUM：一个 tile 搬出时，下一个 tile 也需要地方。",
            )
    return ""


def _sums(seed, sizes):
    g = torch.Generator().manual_seed(seed)
    made = []
    for blocks, length, tile in sizes:
        n = blocks * length
        x, y = torch.randn(n, generator=g).half(), (3 * torch.rand(n, generator=g) - 1).half()
        made.append(
            Case(
                f"n={n} tile={tile}",
                (x, y, Out(n, x.dtype), {"blockLength": length, "tileLength": tile}),
                x + y,
                blocks=blocks,
                tile=tile,
                timed=(blocks, length, tile) == TIMED,
            )
        )
    return made


MAX_TILE = 256


def max_cases(seed, quick):
    """max(a, b) of two float tensors; (blocks, tiles of a block). There are no new buffers for each of 192 tiles.
    Who gives a buffer back in most tiles only stops where two are kept: somewhere among as many tiles as are drawn."""
    many = 200 + random.Random(seed).randrange(400)
    g = torch.Generator().manual_seed(seed)
    made = []
    for blocks, tiles in ((1, 2), (3, 5)) if quick else ((1, 1), (1, 192), (1, many), (1, 2), (2, 3), (3, 5), (8, 16)):
        n = blocks * tiles * MAX_TILE
        a, b = torch.randn(n, generator=g), torch.randn(n, generator=g)
        made.append(
            Case(f"tiles={tiles}", (a, b, Out(n, a.dtype), tiles), torch.maximum(a, b), blocks=blocks, tile=MAX_TILE)
        )
    return made


def tiling_cases(seed, quick):
    """(n, blocks, usable UB) -> the largest tile, found here by trying every length from the block's own downwards."""
    asked = [
        (65536, 8, 188416),
        (16, 1, 188416),
        (48 * 1280, 48, 188416),
        (3 * 5 * 7 * 176, 3, 4096),
        (1 << 21, 8, 188416),
        (2 * 11 * 13 * 16, 2, 1600),
        (6291456, 48, 188416),
        (768, 2, 1536),
        (2 * 5 * 157 * 16, 2, 1600),  # 157 is prime: a block needs so many tiles
    ]
    draw = random.Random(seed)
    for kib in (512, 2048) if seed else ():  # of a class: the tile follows the UB, whatever a chip has
        asked.append((16 * 2 ** draw.randrange(12, 15) * draw.choice((3, 5, 7)) * 8, 8, kib << 10))
    for blocks in (draw.randint(2, 48), draw.randint(49, 96), draw.randint(97, 4096)) if seed else ():  # and any blocks
        asked.append((blocks * 16 * draw.randint(1, 9) * draw.randint(2, 30), blocks, draw.randint(20, 2000) * 96))
    made = []
    for n, blocks, ub in asked[:4] + asked[7:8] if quick else asked:
        length = n // blocks
        tile = next(t for t in range(length, 0, -1) if length % t == 0 and t % 16 == 0 and 3 * 2 * 2 * t <= ub)
        made.append(
            Case(f"n={n} blocks={blocks} ub={ub}", (n, blocks, ub), {"blockLength": length, "tileLength": tile})
        )
    return made


def run_tiling(function, args, case):
    """The fields as AddTiling holds them, uint32_t: 8192.0 is equal to 8192, and no such number."""
    made = function(*args)
    if not isinstance(made, dict):
        return made
    return {name: f"{value} (float)" if isinstance(value, float) else value for name, value in made.items()}
