"""Are there enough samples for what the report says of them, and does it show how they differ?"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from labkit.bench.lies import words
from labkit.bench.lies.case import Case, Finding, by_place, signature
from labkit.bench.lies.reading import says

_SUSTAINED = 1000  # calls of the same, without a reading between them


def few_samples(c: Case) -> Iterator[Finding]:
    """One sample, a mean alone, the least as the usual one, or a tail of too few."""
    counts = [len(g) for key, g in c.groups.items()]
    if not counts:
        return
    at_place = [len(g) for g in by_place(c.regions).values()]
    few = median(counts) <= 1 and (median(at_place) <= 1 or len(c.groups) > 1)
    if few and _sustained(c):
        return
    if few and not (len(counts) == len(c.regions) and max(at_place) >= 5 and c.spread):
        r = c.regions[-1]
        yield c.find("spread", r["line"], "once", kernels=r["kernels"], groups=len(counts))
    elif not c.spread:
        line = (c.script, c.text.mean_line) if c.text.mean_line else c.regions[-1]["end_line"]
        lows = [r["value_us"] for r in c.regions]
        yield c.find("spread", line, c.text.how, samples=len(lows), least=min(lows), most=max(lows))
    elif c.text.least and says(words.TYPICAL, c.claims) and not says(words.WHICH, c.claims):
        lows = [r["value_us"] for r in c.regions]
        yield c.find("spread", (c.script, c.text.least), "typical", samples=len(lows), least=min(lows), most=max(lows))
    elif not c.kit and (tail := words.few_for(c.seen.output, most := drawn(c))):
        yield c.find("spread", c.regions[-1]["end_line"], "tail", tail=f"{tail:g}", samples=most)
    elif not c.kit and 2 * (most := drawn(c)) < (many := words.frequency(c.seen.output)):
        yield c.find("spread", c.regions[-1]["end_line"], "frequency", many=many, samples=most)


def _sustained(c: Case) -> bool:
    """A rate that is said to be a sustained one, over so many calls that it is a mean by its nature."""
    many = all(max(r["calls_of"].values(), default=0) >= _SUSTAINED for r in c.regions)
    return many and bool(says(words.SUSTAINED, c.seen.output)) and bool(says(words.RATE, c.seen.output))


def drawn(c: Case) -> int:
    """Samples of one thing: of a place, where its shapes are mixed as requests are, and not one after the other."""
    most = 0
    for place in by_place(used(c)).values():
        order = [signature(r) for r in sorted(place, key=lambda r: r["start"])]
        blocks = sum(a != b for a, b in zip(order, order[1:])) + 1 == len(set(order))
        most = max([most, *map(order.count, set(order))] if blocks else [most, len(order)])
    return most


def used(c: Case) -> list[dict]:
    """The regions without those of a function whose value a line throws away and another one keeps: a warm-up."""
    bare = {id(r) for r in c.regions if len(r["via"]) > 1 and tuple(r["via"][1]) in c.text.bare}
    kept = {tuple(r["via"][0]) for r in c.regions if id(r) not in bare and r["via"]}
    return [r for r in c.regions if id(r) not in bare or tuple(r["via"][0]) not in kept]
