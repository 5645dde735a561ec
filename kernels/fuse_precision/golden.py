"""Cases of notebooks 04.06 and 04.07: how far off a result may be, which rounding a fusion left out, what a policy
does, how a kernel cuts rows that nobody knew."""

from __future__ import annotations

import random

import torch
from torch.nn import functional as F

from labkit import messages
from labkit.exercises import Case


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


# ---- prec_places: (bits of the type, largest number, terms of the sum, sum of their sizes)

PLACES = (
    ("half, no sum", 11, 8.0, 1, 8.0),
    ("half, 4,096 terms that cancel", 11, 0.5, 4096, 2048.0),
    ("float, 4,096 terms", 24, 64.0, 4096, 2048.0),
    ("bfloat16, 64 terms", 8, 16.0, 64, 64.0),
)


def places_cases(seed, quick):
    return [
        Case(name, (bits, size, n, terms), (size * 2.0**-bits + n**0.5 * 2.0**-24 * terms) * 2**20)
        for name, bits, size, n, terms in PLACES
    ]


def run_places(function, args, case):
    return float(function(*args)) * 2**20  # in numbers that can be read


# ---- prec_which: silu(g) * u + g in half


def steps(g, u, kept=()):
    """The chain; results named in `kept` stay in float."""

    def rounded(name, t):
        return t if name in kept else t.half().float()

    s = rounded("silu", F.silu(g))
    m = rounded("mul", s * u)
    return rounded("add", m + g).half().float()


def exact(seed, rows=16):
    g = torch.Generator().manual_seed(seed)
    return [torch.randint(-32, 33, (rows, 40), generator=g).float() / 8 for _ in range(2)]


def which_cases(seed, quick):
    asked = (("nothing",), ("silu",), ("mul",), ("silu", "mul"))
    made = [Case(f"without the rounding of {' and '.join(k)}", (seed + i, k), sorted(k)) for i, k in enumerate(asked)]
    name = say(
        "without the rounding of mul, all a little too large or too small", "不对 mul 做舍入，且全部略微偏大或偏小"
    )
    return [*made, Case(name, (seed, ("mul",), ("silu",)), ["mul"])]


def run_which(function, args, case):
    g, u = exact(args[0])
    models = {k: steps(g, u, k) for k in (("nothing",), ("silu",), ("mul",), ("silu", "mul"))}
    after = models[args[1]]
    if args[2:]:  # differences to another model that are as often too large as too small add up to nothing
        after = after + (models[args[2]] - after).mean()
    return sorted(function(models, after))


# ---- prec_decide: errors of a part as it is, fused, fused in float

ERRORS = (
    ("the fused part is nearer", 3e-4, 2e-4, 2e-4, "fp32", "fused"),
    ("a little farther, within the limit", 3e-4, 3.5e-4, 2e-4, "fp32", "fused"),
    ("farther, float helps", 3e-4, 6e-2, 3e-4, "fp32", "fp32"),
    ("farther, float does not help", 3e-4, 6e-2, 5e-2, "fp32", "unfused"),
    ("farther, left by choice", 3e-4, 6e-2, 3e-4, "unfused", "unfused"),
    ("farther, named by choice", 3e-4, 6e-2, 3e-4, "report", "report"),
    ("farther, named by choice, float no better", 3e-4, 6e-2, 5e-2, "report", "report"),
    ("farther, float a little worse", 3e-4, 6e-2, 3.5e-4, "fp32", "fp32"),
    ("farther, float farther still", 3e-4, 6e-2, 7e-2, "fp32", "unfused"),
    ("exactly at the limit", 0.5, 0.625, 0.5, "unfused", "fused"),
    ("farther, float exactly at the limit", 0.5, 2.0, 0.625, "fp32", "fp32"),
)


def decide_cases(seed, quick):
    return [Case(name, tuple(rest[:-1]), rest[-1]) for name, *rest in ERRORS]


def run_decide(function, args, case):
    return str(function(*args))


# ---- prec_tiles: rows over blocks

ROWS = ((0, 48), (1, 48), (47, 48), (48, 48), (97, 48), (1021, 40), (4096, 48))


def tiles_cases(seed, quick):
    draw = random.Random(seed)
    asked = [*ROWS, *((draw.randint(2, 5000), draw.randint(2, 48)) for _ in range(4 * (seed != 0)))]
    right = say("every row once, no block without work", "每行恰好一次，没有空闲的 block")
    return [Case(f"{rows} rows, {blocks} blocks", (rows, blocks), right) for rows, blocks in asked]


def run_tiles(function, args, case):
    rows, blocks = args
    used, each = function(rows, blocks)
    covered = [min(rows, (b + 1) * each) - min(rows, b * each) for b in range(used)]
    if not 0 <= used <= blocks:
        return say(f"{used} blocks of {blocks}", f"{blocks} 个 block 用了 {used} 个")
    if sum(covered) != rows:
        return say(f"{sum(covered)} of {rows} rows belong to a block", f"{rows} 行中只有 {sum(covered)} 行有归属")
    if not all(covered):
        return say(f"{covered.count(0)} of {used} blocks have no work", f"{used} 块中有 {covered.count(0)} 块空闲")
    if rows and each != (least := -(-rows // blocks)):
        return say(f"{each} rows each, {least} are enough", f"每块 {each} 行，{least} 行就够")
    return case.expected
