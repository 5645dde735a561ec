"""Claims about memory whose data come out of the L2."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from labkit.bench.lies import words
from labkit.bench.lies.case import Case, Finding, place_of, signature
from labkit.bench.lies.reading import Text, says
from labkit.bench.lies.touched import GATHERS

LONGER, EVEN = 1.08, 1.03  # what an empty L2 costs: from here on it is a finding; up to here it is nothing
HALF, HELD = 0.5, 0.9  # of an input, in the L2 when the operator begins


def about_memory(text: Text, output: str) -> bool:
    """Does the script speak of what comes from memory, so that a warm L2 would be a lie?"""
    said = [line for line in f"{output}\n{text.strings}".split("\n") if not says(words.DISCLAIMS, line)]
    names = " ".join(w for w in text.words if w.lower() != "cold").replace("_", " ")  # a first call's time is called so
    claims = "\n".join([*said, names])
    return bool(says(words.BANDWIDTH, claims)) and not says(words.WARM, claims)


def claims_memory(text: Text, output: str) -> bool:
    """Does its report say in words that the data come from memory, or are not in the cache? A rate alone does not."""
    said = [line for line in f"{output}\n{text.strings}".split("\n") if not says(words.DISCLAIMS, line)]
    return any(says(words.WAY, line) or says(words.FROM_MEMORY, line) and not says(words.GIVEN, line) for line in said)


def warmed(c: Case) -> Iterator[Finding]:
    """Slower with an empty L2; or, where the model sees no difference, every input in the L2 at each call."""
    if not c.seen.memory:
        return
    found = list(_slower(c))
    yield from found
    if not found and c.seen.held is not None:
        yield from _held(c)


def picks_rows(regions: list[dict]) -> bool:
    """Does one of them take rows of a table, of which the model does not know which?"""
    return any(n.rpartition("::")[2] in GATHERS for r in regions for n in r["names"])


def _rows_elsewhere(c: Case) -> set[tuple]:
    """What picks rows that the L2 has not held, whatever the model says of them."""
    held = defaultdict(list)
    for r in c.seen.held or ():
        if picks_rows([r]) and r["held"] is not None:
            held[place_of(r), signature(r)].append(r["held"])
    return {key for key, shares in held.items() if median(shares) < HELD}


def share_held(c: Case, side: list[dict]) -> float | None:
    """What the L2 holds of a side's inputs when its samples begin; None where that was not seen."""
    keys = {(place_of(r), signature(r), str(r["callers"])) for r in side}
    shares = [r["held"] for r in c.seen.held if (place_of(r), signature(r), str(r["callers"])) in keys]
    known = [s for s in shares if s is not None]
    return median(known) if known else None


def _slower(c: Case) -> Iterator[Finding]:
    elsewhere = _rows_elsewhere(c)
    cold = defaultdict(list)
    for r in c.seen.cold or ():
        cold[place_of(r), signature(r)].append(r["busy_us"])
    for key, group in c.groups.items():
        beside = any(r["among_threads"] for r in group)  # other threads' work comes between, each time in another way
        if group[0]["kernels"] and cold.get(key) and key not in elsewhere and not beside:
            warm, without = median(r["busy_us"] for r in group), median(cold[key])
            emptied = sum(r["busy_us"] * EVEN > without for r in group)  # by the script itself, beside the others
            if warm and without > LONGER * warm and emptied < len(group) / 4:
                yield c.find("hot_cache", group[0]["line"], warm=warm, cold=without, times=without / warm)


def _held(c: Case) -> Iterator[Finding]:
    """Where a script takes turns among its inputs, or empties the L2, some of them are not there."""
    taken = [r for r in c.seen.held if r["kernels"] and r["held"] is not None]
    warm = [r for r in taken if r["held"] >= HELD]
    if len(taken) >= 3 and len(warm) >= 0.9 * len(taken):
        yield c.find("hot_cache", warm[0]["line"], "held", count=len(warm), all=len(taken))
