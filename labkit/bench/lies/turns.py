"""Two that are measured in turn: always the one behind the other, which finds in the L2 what the first has brought."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, median

from labkit.bench.lies import cache, words
from labkit.bench.lies.case import Case, Finding, Observed, inputs_shared, pairs_of, place_of, sides_of, signature
from labkit.bench.lies.reading import Text, says

SWITCHES = 3  # a comparison in turn changes sides at least so often
_SAME = 0.02  # of the kernels' time: two that do the same on the device
_AHEAD = 0.03  # of a sample: what the second of two in turn finds in the L2, where the first finds nothing


def order_of(one: list[dict], other: list[dict]) -> list[int]:
    """Which side was measured, 0 or 1, one after the other."""
    return [side for _, side in sorted([(r["start"], 0) for r in one] + [(r["start"], 1) for r in other])]


def changes(order: list[int]) -> int:
    return sum(a != b for a, b in zip(order, order[1:]))


def takes_turns(text: Text, seen: Observed, script: str) -> bool:
    """Are two measured in turn, one always right behind the other, as things that do the same?"""
    return any(True for _ in _turns(Case(text, seen, script)))


def shows(c: Case) -> bool:
    """Does it show already that one of two finds in the L2 what the other has brought?"""
    return any(True for _ in behind(c))


def _turns(c: Case) -> Iterator[tuple[list[dict], list[dict]]]:
    """(those that come first, those that come right behind): a b a b, each from its own readings, never b before a."""
    if not c.compares and not c.text.words & {"equal", "allclose", "assert_close", "array_equal", "assert_allclose"}:
        return
    both = sides_of(c)
    for one, other in [*pairs_of(both), *(inputs_shared(both) if c.compares else ())]:
        sides = order_of(one, other)
        if len(one) == len(other) >= SWITCHES and sides == sides[:2] * len(one) and sides[0] != sides[1]:
            yield (one, other) if not sides[0] else (other, one)


def behind(c: Case) -> Iterator[Finding]:
    """In turn, and always in the same order: does the one find in the L2 what the other has just brought there? Its
    first kernel does then with a full L2 what the other's does with an empty one. A report of the one hot and the other
    cold has just that as its subject."""
    if says(words.WARM, c.seen.output) and says(r"\bcold\b|冷", c.seen.output):
        return
    for one, other in _turns(c) if c.seen.cold is not None else ():
        gains = []
        for side in (one, other):
            keys = {(place_of(r), signature(r)) for r in side}
            cold = [r["head_us"] for r in c.seen.cold if (place_of(r), signature(r)) in keys]
            gains.append((mean(r["head_us"] for r in side), mean(cold) if cold else 0.0))
        (warm, empty), (warm2, empty2), usual = *gains, median(r["value_us"] for r in other)
        ahead = max(empty2 - warm2, (warm - warm2) - (empty - empty2))  # the first may also pay for what was there
        if warm and warm2 and empty <= cache.EVEN * warm and empty2 > cache.LONGER * warm2 and ahead > _AHEAD * usual:
            yield c.find("order", other[0]["line"], "behind", warm=warm2, cold=empty2, us=usual)
            return
    for one, other in _turns(c) if c.seen.held is not None else ():
        first, second = (cache.share_held(c, side) for side in (one, other))
        if first is not None and second is not None and first < cache.HALF and second >= cache.HELD:
            yield c.find("order", other[0]["line"], "finds", first=100 * first, second=100 * second)
            return


def drained(c: Case) -> Iterator[Finding]:
    """In turn, from the same events: does the first one always begin behind a wait, on a device that has nothing to do,
    and the second where the first ends? Their kernels take the same time; the first pays for the launch."""
    for one, other in _turns(c):
        joined = all(abs(a["start"] + a["host_us"] - b["start"]) < 1e-3 for a, b in zip(one, other))
        if (
            not joined
            or any(r["kind"] != "event" for r in (*one, *other))
            or not all(r["waits_between"] for r in one[1:])
        ):
            continue
        busy, busy2 = (median(r["busy_us"] for r in side) for side in (one, other))
        us, us2 = (median(r["value_us"] for r in side) for side in (one, other))
        if abs(busy - busy2) <= _SAME * busy2 and us - us2 > _AHEAD * us2:
            yield c.find("order", other[0]["line"], "drained", first=us, second=us2, busy=busy2)
            return
