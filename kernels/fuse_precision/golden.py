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
    ("half, 1,000 terms", 11, 2.0, 1000, 900.0),
    ("float, 7 terms", 24, 3.0, 7, 5.0),
)


def places_cases(seed, quick):
    asked, draw = [*PLACES], random.Random(seed)
    for bits in (8, 11, 24) if seed else ():  # of a class: as many terms as a long sum has
        n = draw.randrange(10_000, 40_000_000)
        asked.append((f"{n:,} terms, {bits} bits", bits, draw.randrange(1, 4096) / 8, n, n / 2))
    return [
        Case(name, (bits, size, n, terms), (size * 2.0**-bits + n**0.5 * 2.0**-24 * terms) * 2**20)
        for name, bits, size, n, terms in asked
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


def exact(seed, rows=16, columns=40):
    g = torch.Generator().manual_seed(seed)
    return [torch.randint(-32, 33, (rows, columns), generator=g).float() / 8 for _ in range(2)]


KEPT = (("nothing",), ("silu",), ("mul",), ("silu", "mul"))


def which_cases(seed, quick):
    """Four that one model explains exactly; five that another measure than the sum of squares explains by another; and
    four of other shapes, of which the first or the last rows or columns alone say another model."""
    made = [Case(f"without the rounding of {' and '.join(k)}", (seed + i, k), sorted(k)) for i, k in enumerate(KEPT)]
    models = models_of(seed)
    for name, change, measure in (
        (say("all a little too large or too small", "全部略微偏大或偏小"), shifted, lambda d: d.sum().abs()),
        (say("a third of the rows another's", "三分之一的行是另一种"), some_rows, lambda d: d[:8].square().sum()),
        (say("one element far off", "有一个元素偏得很远"), one_far, lambda d: d.abs().max()),
        (say("many elements a little off", "许多元素略有偏差"), many_near, lambda d: d.abs().sum()),
        (say("of another size", "整体大小不同"), as_long, None),
    ):
        pairs = [(a, b) for a in KEPT for b in KEPT if a != b]
        near, other = next((p for p in pairs if tells(models, p, change, measure)), pairs[0])
        kept = nearest(models, change(models[near], models[other]))
        made.append(Case(name, (seed, near, other, change.__name__), sorted(kept)))
    draw = random.Random(seed)
    for change in (first_rows, last_rows, first_columns, last_columns):
        shape, (near, other) = (draw.randint(60, 200), draw.randint(80, 200)), draw.sample(KEPT, 2)
        models = models_of(seed, *shape)
        kept = nearest(models, change(models[near], models[other]))
        made.append(Case(f"{shape[0]} x {shape[1]}", (seed, near, other, change.__name__, *shape), sorted(kept)))
    return made


def run_which(function, args, case):
    models = models_of(args[0], *args[4:])
    after = models[args[1]]
    return sorted(function(models, CHANGES[args[3]](after, models[args[2]]) if args[2:] else after))


def models_of(seed, *shape):
    g, u = exact(seed, *shape)
    return {k: steps(g, u, k) for k in KEPT}


def nearest(models, after, measure=lambda d: d.square().sum()):
    return min(models, key=lambda k: float(measure(models[k].double() - after.double())))


def tells(models, pair, change, measure):
    """Is the first of the pair nearest by the squares, with room, and not by the measure? None: the sizes alone."""
    near, other = (models[k] for k in pair)
    after = change(near, other)
    far = sorted(float((m.double() - after.double()).square().sum()) for m in models.values())
    if measure is None:
        whole = {k: m.double().square().sum() for k, m in models.items()}
        wrong = min(models, key=lambda k: float((whole[k] - after.double().square().sum()).abs()))
    else:
        wrong = nearest(models, after, measure)
    return far[1] > 1.1 * far[0] and nearest(models, after) == pair[0] != wrong


def shifted(near, other):
    """By the sum of the differences, of a row too: those to the other model are of both signs and add up to nothing."""
    return near + (other - near).mean(1, keepdim=True)


def some_rows(near, other):
    """By some of the rows alone: the first ones are the other one's."""
    return torch.cat([other[:5], near[5:]])


def one_far(near, other):
    """By the largest difference: one element is farther from its own model than any is from the other."""
    apart = other - near
    at = apart.abs().flatten().argmax()
    after = near.clone()
    after.view(-1)[at] += 1.5 * apart.flatten()[at]
    return after


def many_near(near, other):
    """By the sum of absolute differences, or the number of elements that differ: those in which the two models are
    close to each other are the other one's, and they are most of them."""
    apart = (other - near).abs()
    sizes = apart.flatten().sort(descending=True).values
    enough = (sizes.square().cumsum(0) > 0.6 * sizes.square().sum()).nonzero()[0, 0]
    return torch.where(apart >= sizes[enough], near, other)


def as_long(near, other):
    """By the sums of squares of the two alone: the result has that of the other model."""
    return near * (other.square().sum() / near.square().sum()).sqrt()


def first_rows(near, other):
    """By as many rows as other cases have, or more: the first third is the other one's."""
    return torch.cat([other[: len(near) // 3], near[len(near) // 3 :]])


def last_rows(near, other):
    return first_rows(near.flip(0), other.flip(0)).flip(0)


def first_columns(near, other):
    return first_rows(near.T, other.T).T.contiguous()


def last_columns(near, other):
    return last_rows(near.T, other.T).T.contiguous()


_CHANGES = shifted, some_rows, one_far, many_near, as_long, first_rows, last_rows, first_columns, last_columns
CHANGES = {made.__name__: made for made in _CHANGES}


# ---- prec_decide: errors of a part as it is, fused, fused in float; the choice; the limit, where it is not 1.25

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
    ("within a limit of 2", 0.5, 0.875, 0.5, "unfused", 2.0, "fused"),
    ("behind a limit of 2, float within it", 0.5, 1.5, 0.875, "fp32", 2.0, "fp32"),
    ("behind a limit of 1", 0.5, 0.5625, 0.53125, "fp32", 1.0, "unfused"),
    ("exact before and fused", 0.0, 0.0, 0.0, "fp32", "fused"),
    ("exact before, float exact too", 0.0, 1e-3, 0.0, "fp32", "fp32"),
    ("exact before, float not", 0.0, 1e-3, 1e-6, "fp32", "unfused"),
)


def decide_cases(seed, quick):
    return [Case(name, tuple(rest[:-1]), rest[-1]) for name, *rest in (*ERRORS, *drawn_errors(seed))]


def drawn_errors(seed):
    """Of a class's seed: errors and limits of any size, on both sides of the limit, with each choice."""
    draw, made = random.Random(seed), []
    for near, float_near in ((a, b) for a in (True, False) for b in (True, False)) if seed else ():
        for choice in ("fp32", "unfused", "report"):
            before, loses = 10 ** draw.uniform(-9, 4), draw.choice((draw.uniform(1, 1.2), 10 ** draw.uniform(0.5, 3)))
            after, in_float = (
                loses * before * (draw.uniform(0.6, 0.99) if good else 10 ** draw.uniform(0.01, 2))
                for good in (near, float_near)
            )
            right = "fused" if near else "unfused" if choice == "fp32" and not float_near else choice
            made.append((f"drawn, a limit of {loses:.4g}", before, after, in_float, choice, loses, right))
    return made


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
