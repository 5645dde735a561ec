"""Cases of notebook 08.03's exercises: rows added by atomic stores, runs of sorted ids, shares, the choice of a way."""

from __future__ import annotations

import random

import torch

from labkit import messages
from labkit.exercises import Case, InOut, Out

COUNTED = 8  # numbers that a core writes down; the first is how many ids it has refused
TALL = 16  # rows of a tile


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def summed(grad, ids, rows: int, padding: int = -1):
    """[rows, width]: for each row of the table the sum of grad's rows with its id."""
    there = (ids >= 0) & (ids < rows) & (ids != padding)
    return torch.zeros(rows, grad.shape[1]).index_add_(0, ids[there].long(), grad[there])


def _drawn(seed: int, count: int, width: int, low: int, high: int):
    """Multiples of 1/8, whose sums are exact in any order."""
    made = torch.Generator().manual_seed(seed)
    grad = torch.randint(-32, 33, (count, width), generator=made) / 8
    return grad, torch.randint(low, high, (count,), generator=made).int()


def atomic_cases(seed, quick):
    """(rows added, width, rows of the table, padding, lowest and highest id drawn, cores)"""
    sizes = (
        (40, 16, 50, -1, 0, 50, 1),
        (100, 80, 12, -1, 0, 12, 4),
        (77, 40, 20, 7, 0, 20, 3),
        (90, 24, 30, 0, -4, 36, 2),
        (65, 100, 9, 8, 0, 10, 5),
        (50, 24, 10, 10, 0, 12, 2),  # padding is no row of the table: refused
    )
    if seed:  # of a class: such padding below the table, too, and far from it on both sides
        draw = random.Random(seed)
        below, above = -draw.randint(2, 6), draw.randint(12, 40)
        sizes = (80, 32, 11, below, below - 3, 14, 2), (80, 40, 11, above, -2, above + 3, 3), *sizes
    cases = []
    for i, (count, width, rows, padding, low, high, cores) in enumerate(sizes):
        grad, ids = _drawn(seed + i, count, width, low, high)
        ids[:2] = torch.tensor([low, high - 1], dtype=torch.int32)
        wrong, refused = (ids < 0) | (ids >= rows), torch.zeros(cores, COUNTED, dtype=torch.int32)
        for at in wrong.nonzero().flatten().tolist():
            refused[at // TALL % cores, 0] += 1
        args = (
            grad,
            ids,
            InOut(torch.zeros(rows, width)),
            Out((cores, COUNTED), torch.int32),
            count,
            width,
            rows,
            padding,
        )
        name = f"rows={count} width={width} table={rows} padding={padding} ids={low}..{high - 1}"
        cases.append(Case(name, args, (summed(grad, ids, rows, padding), refused), (0, 0), blocks=cores))
    return cases


def cut(ids: list[int], cores: int) -> list[int]:
    """Where each core's places begin, and the end: even shares, each edge moved on to the next begin of a run."""
    share, edges = -(-len(ids) // cores), []
    for core in range(cores + 1):
        at = min(core * share, len(ids))
        while 0 < at < len(ids) and ids[at] == ids[at - 1]:
            at += 1
        edges.append(at)
    return edges


def runs_cases(seed, quick):
    """(places, width, rows of the table, cores): every id its own, few ids, one id, a core without places; the last has
    many short runs, where a store too many for each costs most. A class has rows up to the widest that the kernel
    takes."""
    sizes = ((24, 16, 200, 1), (96, 37, 12, 3), (50, 80, 1, 1), (60, 24, 2, 4), (260, 16, 100, 4))
    if seed:
        sizes = (30, 1024, 5, 2), (40, random.Random(seed).randint(90, 1000), 7, 3), *sizes
    cases = []
    for i, (count, width, rows, cores) in enumerate(sizes):
        grad, ids = _drawn(seed + i, count, width, 0, rows)
        found, order = torch.sort(ids, stable=True)
        edges = torch.tensor(cut(found.tolist(), cores), dtype=torch.int32)
        args = (grad, found, order.int(), edges, InOut(torch.zeros(rows, width)), count, width)
        name = f"places={count} width={width} table={rows}"
        cases.append(Case(name, args, summed(grad, ids, rows), (0, 0), blocks=cores, timed=i == len(sizes) - 1))
    return cases


def edges_cases(seed, quick):
    asked = (
        (say("no run is cut", "没有一段被切开"), [0, 0, 1, 1, 2, 2, 3, 3], 4),
        (say("an edge inside of a run", "边界落在一段之内"), [0, 1, 1, 1, 2, 3, 4, 5], 2),
        (say("a run longer than a share", "一段比一份还长"), [0, 1, 1, 1, 1, 1, 1, 2, 3], 3),
        (say("one id", "只有一个 id"), [5] * 7, 3),
        (say("shares that do not come out even", "分不均匀"), [0, 1, 2, 3, 4, 5, 6], 3),
        (say("more cores than places", "核比位置多"), [4, 9], 4),
        (say("ids with gaps", "id 不连续"), [2, 2, 2, 2, 7, 7, 7, 9, 9, 30], 3),
        (say("one core", "一个核"), [3, 3, 8], 1),
        (say("no ids", "没有 id"), [], 3),
    )
    draw, more = random.Random(seed), []
    for most in (100, 3_000) if seed else ():  # of a class: runs as long as a frequent word's
        ids = [i for i in range(12) for _ in range(draw.randrange(most // 2, most) if i % 3 == 1 else 1)]
        more.append((say(f"runs of up to {most} places", f"一段长达 {most} 个位置"), ids, draw.randrange(5, 48)))
    return [Case(name, (ids, cores), cut(ids, cores)) for name, ids, cores in (*asked, *more)]


ROWS = 151_674
HOLD, TABLE, SYNC = 0.0429, 1.4e6, 4.0  # as the task gives them


def choose_cases(seed, quick):
    """Far from where the two ways take the same time, but for one that SYNC decides and eight for single terms."""
    asked = (
        (say("all ids alike rare", "所有 id 都很少出现"), (8192, 80, 0.0, False, False), "scatter"),
        (say("one id alone", "只有一个 id"), (8192, 80, 1.0, False, False), "segments"),
        (
            say("a text's most frequent word, short rows", "文本中最常见的词，行很短"),
            (8192, 80, 0.15, False, False),
            "segments",
        ),
        (say("the same, long rows", "同样，行很长"), (8192, 4096, 0.15, False, False), "scatter"),
        (say("few ids, one of them frequent", "id 不多，其中一个频繁"), (512, 80, 0.15, False, False), "scatter"),
        (say("16-bit rows", "16 位的行"), (8192, 80, 0.0, True, False), "segments"),
        (say("waits longer than the sort alone", "等待比单独排序长"), (8192, 80, 0.05, False, False), "scatter"),
        (
            say("16-bit rows, waits and table together too long", "16 位的行，等待与表合起来过长"),
            (8192, 13, 0.025, True, False),
            "segments",
        ),
        (
            say("16-bit rows, which move as float", "16 位的行，按 float 搬运"),
            (131_072, 150, 0.012, True, False),
            "scatter",
        ),
        (say("16-bit rows, short and few", "16 位的行，又短又少"), (2048, 12, 0.0, True, False), "scatter"),
        (say("16-bit rows, a little longer", "16 位的行，稍长"), (2048, 13, 0.0, True, False), "segments"),
        (say("16-bit rows, very many", "16 位的行，非常多"), (131_072, 200, 0.0, True, False), "segments"),
        (
            say("16-bit rows, more ids than rows of the table", "16 位的行，id 比表的行还多"),
            (200_000, 250, 0.0, True, False),
            "scatter",
        ),
        (
            say("what moves hides most of the waiting", "搬运盖住了大部分等待"),
            (8192, 1000, 0.115, False, False),
            "scatter",
        ),
        (say("what moves hides too little of it", "搬运盖住得太少"), (8192, 1000, 0.12, False, False), "segments"),
        (say("very many ids, long rows", "id 非常多，行很长"), (1_000_000, 1000, 0.08, False, False), "scatter"),
        (say("the same bits each time", "每次结果逐位相同"), (8192, 4096, 0.0, False, True), "segments"),
        (say("the same bits, few short rows", "逐位相同，行少而短"), (512, 80, 0.0, False, True), "segments"),
    )
    return [Case(name, args, expected) for name, args, expected in (*asked, *drawn_choices(seed))]


def drawn_choices(seed):
    """Of a class's seed: the share of the most frequent id is such that scatter takes clearly less, or clearly more,
    than sorting; so each term decides somewhere, for few ids and for millions."""
    draw, made = random.Random(seed), []
    while len(made) < (24 if seed else 0):
        most, word = ((0.75, "scatter"), (3.0, "segments"))[len(made) % 2]
        count, width, half = int(2 ** draw.uniform(8, 22)), int(2 ** draw.uniform(2, 12)), draw.random() < 0.5
        segments = 4.5 + 2.3 * -(-count // 2048) + SYNC
        waits = segments * draw.uniform(most / 2.2, most) - (ROWS * width * 8 / TABLE if half else 0.0)
        share = (waits + count * width * 4 / TABLE) / (count * HOLD)
        if waits > 0 and share <= 1:
            fixed = draw.random() < 0.1
            args = (count, width, share, half, fixed)
            made.append((f"drawn {len(made)}", args, "segments" if fixed else word))
    while 24 <= len(made) < 36:  # rows so wide that what moves hides all waiting, or nearly; far from the border
        count, width, half = int(2 ** draw.uniform(8, 36)), int(2 ** draw.uniform(12.5, 20)), len(made) % 2 == 0
        share = draw.uniform(0.6, 1)
        waits = max(0.0, share * count * HOLD - count * width * 4 / TABLE)
        times = (waits + (ROWS * width * 8 / TABLE if half else 0.0)) / (4.5 + 2.3 * -(-count // 2048) + SYNC)
        if not 0.75 < times < 1.33:
            made.append((f"drawn {len(made)}", (count, width, share, half, False), ("segments", "scatter")[times < 1]))
    return made
