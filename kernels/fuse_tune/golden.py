"""Cases of notebook 04.08's exercises: small spaces whose times are known."""

from __future__ import annotations

import math
import random

from labkit import messages
from labkit.exercises import Case

UB, RESERVED = 192 * 1024, 8 * 1024


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def _fits(tile, slots, tensors, size, floats) -> bool:
    return slots * tensors * tile * size + floats * tile * 4 <= UB - RESERVED


ROOM = (
    ("six half tiles", 8192, 2, 3, 2, 1),
    ("one slot makes room", 16384, 1, 3, 2, 1),
    ("two slots do not", 16384, 2, 3, 2, 1),
    ("the reserve is missing", 15360, 2, 3, 2, 0),
    ("just below the reserve", 15616, 2, 3, 2, 0),
    ("floats in between", 10240, 2, 2, 2, 3),
    ("two floats in between", 8192, 2, 3, 2, 2),
    ("float tensors", 8192, 2, 3, 4, 0),
    ("to the byte", 11776, 2, 2, 4, 0),
    ("in UB, but in what the API keeps", 12032, 2, 2, 4, 0),
    ("many floats in between", 4096, 2, 2, 2, 9),
    ("floats that alone are too many", 4096, 2, 2, 2, 30),
    ("one slot, four tensors", 24576, 1, 4, 2, 0),
    ("too much by less than a KB", 47120, 1, 2, 2, 0),
    ("elements of one byte", 24576, 2, 4, 1, 0),
)


def room_cases(seed, quick):
    return [Case(name, tuple(asked), _fits(*asked)) for name, *asked in (*ROOM, *drawn_rooms(seed))]


def drawn_rooms(seed):
    """Of a class's seed: any number of slots, tensors and floats, each with the longest tile that fits, one element
    more, and a half of it more."""
    draw, made = random.Random(seed), []
    for most in (1, 4, 12, 64) if seed else ():
        slots, tensors = draw.randint(most // 2 + 1, most), draw.randint(1, 24)
        size, floats = draw.choice((1, 2, 4, 8)), draw.randint(0, 24)
        longest = (UB - RESERVED) // (slots * tensors * size + 4 * floats)
        name = f"drawn, {slots} slots, {tensors} tensors of {size} bytes an element, {floats} floats"
        made += [(name, tile, slots, tensors, size, floats) for tile in (longest, longest + 1, longest * 3 // 2 + 1)]
    return made


def run_room(function, args, case):
    return bool(function(*args))


LOOPS = (  # the candidates are tiles, the longest first, so that none is its own place in the list
    ("the last one is best", {2048: 9.0, 1536: 8.0, 1024: 7.0, 512: 6.0}, 4),
    ("the first one is best", {2048: 3.0, 1536: 8.0, 1024: 7.0, 512: 6.0}, 4),
    ("a budget of two", {2048: 9.0, 1536: 8.0, 1024: 1.0, 512: 6.0}, 2),
    ("one does not compile", {2048: 9.0, 1536: None, 1024: 4.0, 512: 1.0}, 3),
    ("more budget than candidates", {1024: 5.0, 512: 4.0}, 9),
    ("the best one in the middle", {2048: 9.0, 1536: 2.0, 1024: 7.0, 512: 6.0}, 4),
    ("two are equally fast", {2048: 9.0, 1536: 4.0, 1024: 7.0, 512: 4.0}, 4),
    ("the slow ones of a large problem", {2048: 90000.0, 1536: 80000.0, 1024: 70000.0, 512: 75000.0}, 4),
)


def loop_cases(seed, quick):
    made = []
    draw, more = random.Random(seed), []
    for least in (1e6, 1e9) if seed else ():  # of a class: a clock's numbers may be of any size
        times = {2048 >> i: least * (i != 2) + draw.randrange(1, 9000) + least for i in range(5)}
        more.append((f"candidates of {least:.0e} us and more", times, draw.randrange(3, 6)))
    for name, times, budget in (*LOOPS, *more):
        asked = list(times)[:budget]
        best = min((c for c in asked if times[c] is not None), key=times.get)
        made.append(Case(name, (times, budget), (best, len(asked))))
    return made


def run_loop(function, args, case):
    times, budget = args
    launches = []

    def clock(candidate):
        launches.append(candidate)
        if len(launches) > 50:
            raise RuntimeError("more than 50 launches")
        if candidate not in times:
            raise ValueError(
                say(
                    f"clock({candidate!r}): the candidates are {list(times)}",
                    f"clock({candidate!r})：候选是 {list(times)}",
                )
            )
        return math.inf if times[candidate] is None else times[candidate]

    return function(list(times), clock, budget), len(launches)


PRUNE = (
    ("exact, and slower", 8.0, [(5.0, 5.0), (6.0, 6.0)], True),
    ("exact, and a little slower", 5.5, [(5.0, 5.0), (6.0, 6.0)], False),
    ("was a third too high once", 8.0, [(8.0, 6.0), (6.0, 6.0)], False),
    ("was a third too high once, far slower", 12.0, [(8.0, 6.0), (6.0, 6.0)], True),
    ("is always too low", 6.5, [(4.0, 6.0), (5.0, 7.0)], False),
    ("is always too low, far slower", 9.0, [(4.0, 6.0), (5.0, 7.0)], True),
    ("slower than the best, faster than the slowest", 8.0, [(5.0, 5.0), (9.0, 9.0)], True),
    ("seems faster", 3.0, [(5.0, 5.0), (6.0, 6.0)], False),
    ("was a third too high the last time", 8.0, [(6.0, 6.0), (8.0, 6.0)], False),
    ("was too high each time", 8.0, [(9.0, 6.0), (8.0, 6.0)], False),
    ("was too high each time, slower", 12.0, [(8.0, 6.0), (9.0, 6.0)], True),
    ("was too low once", 9.0, [(4.0, 8.0), (8.0, 8.0)], False),
    ("the slowest in the middle", 8.0, [(5.0, 5.0), (9.0, 9.0), (6.0, 6.0)], True),
    ("as fast as the best at its least", 6.25, [(5.0, 5.0), (6.0, 6.0)], False),
    ("was half too high once", 11.0, [(9.0, 6.0), (6.0, 6.0)], False),
    ("was twice too high for one of many", 11.0, [(10.0, 5.0), (6.0, 6.0), (14.0, 14.0), (7.0, 7.0)], False),
    ("was twice too high for the slowest of many", 14.0, [(20.0, 10.0), (6.0, 6.0), (7.0, 7.0), (8.0, 8.0)], False),
    ("was twice too high for one of many, slower", 14.0, [(10.0, 5.0), (6.0, 6.0), (14.0, 14.0), (7.0, 7.0)], True),
)


def prune_cases(seed, quick):
    return [Case(name, (predicted, pairs), expected) for name, predicted, pairs, expected in PRUNE]


def run_prune(function, args, case):
    return bool(function(*args))


LEARN = (
    ("the fast one was drawn", [0.0, 0.0], [1.0, 3.0], 0, 0.5),
    ("the slow one was drawn", [0.0, 0.0], [1.0, 3.0], 1, 0.5),
    ("as the mean", [0.0, 0.0, 0.0], [1.0, 2.0, 3.0], 1, 0.5),
    ("not yet even", [1.0, 0.0, -1.0], [4.0, 2.0, 3.0], 0, 0.5),
    ("all alike", [0.5, 0.0], [2.0, 2.0], 0, 0.5),
    ("a small rate", [0.5, 0.0, -0.5], [4.0, 1.0, 3.0], 1, 0.125),
)


def _step(scores, times, drawn, rate):
    e = [math.exp(s) for s in scores]
    chances = [x / sum(e) for x in e]
    mean = sum(c * t for c, t in zip(chances, times))
    return [s + rate * (mean - times[drawn]) * ((i == drawn) - c) for i, (s, c) in enumerate(zip(scores, chances))]


def learn_cases(seed, quick):
    asked, draw = [*LEARN], random.Random(seed)
    for most in (40, 3_000, 100_000) if seed else ():  # of a class: us of any size
        times = [float(draw.randrange(1, most)) for _ in range(draw.randrange(3, 6))]
        scores = [draw.randrange(-8, 9) / 4 for _ in times]
        asked.append((f"up to {most:,} us", scores, times, draw.randrange(len(times)), 1 / draw.choice((8, 64, 1024))))
    return [Case(name, tuple(rest), _step(*rest)) for name, *rest in asked]


def run_learn(function, args, case):
    scores, times, drawn, rate = args
    e = [math.exp(s) for s in scores]
    chances = [x / sum(e) for x in e]
    mean = sum(c * t for c, t in zip(chances, times))
    got = function(list(scores), chances, drawn, times[drawn], mean, rate)
    near = len(got) == len(scores) and all(abs(a - b) < 1e-9 for a, b in zip(got, case.expected))
    return case.expected if near else [round(x, 4) for x in got]
