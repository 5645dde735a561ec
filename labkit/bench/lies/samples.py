"""Which of a script's readings of the clock are its samples."""

from __future__ import annotations

import bisect
from collections import defaultdict

from labkit.bench.lies import clocks
from labkit.bench.lies.clocks import Region

_LOOKS, _SPIN_NS = 5000, 2000.0  # of a loop at the clock, all from one reading; what waits for a time looks quicker
_CPU = ("process_time", "thread_time")


def measured(notes: clocks.Notes, works) -> tuple[list[Region], dict[int, float]]:
    """(regions, thrown). The regions that are measurements: not the whole program, not a loop's look at the clock, not
    what torch.utils.benchmark takes to find its block size, not samples that the script throws away at once. thrown: by
    id of the first region that is kept, the least of the samples thrown away right behind one that is kept and did the
    same work, where all of these are longer than all that are kept: they were chosen by their value. works(region): the
    work in it."""
    by_start: dict[tuple, tuple] = {}
    for key, region in notes.regions.items():
        other = by_start.get(key[:2])
        if other is None or notes.regions[other].end < region.end:
            by_start[key[:2]] = key
    keys = set(by_start.values())
    if notes.measurements:
        keys = {k for k in keys if k in notes.measurements or not notes.regions[k].tool}
    wall = [notes.regions[k] for k in keys if not notes.regions[k].clock.startswith(_CPU)]
    keys = {  # the program's CPU time, given beside what went by
        k for k in keys if not notes.regions[k].clock.startswith(_CPU)
        or not any(r.start < notes.regions[k].end and notes.regions[k].start < r.end for r in wall)
    }  # fmt: skip
    found = sorted((notes.regions[k] for k in keys), key=lambda r: (r.start, -r.end))
    places = defaultdict(list)
    for region in found:
        places[region.via[:1]].append(region)
    dropped = {id(r) for place in places.values() for r in _unused(place)}
    thrown: dict[int, float] = {}
    for place in places.values():
        kept = [r for r in place if r.kept]
        again = [b for a, b in zip(place, place[1:]) if a.kept and not b.kept and works(a) == works(b)]
        if again and min(r.value_us for r in again) > max(r.value_us for r in kept):
            thrown[id(kept[0])] = min(r.value_us for r in again)
    begins = [r.start for r in found]
    inner = []
    for region in found:  # what a warm-up took holds readings, if only such as came to nothing
        j = bisect.bisect_left(begins, region.start)
        holds = any(
            other is not region and other.end <= region.end and (other.start, other.end) != (region.start, region.end)
            for other in found[j : bisect.bisect_right(begins, region.end)]
        )
        if not holds and id(region) not in dropped:
            inner.append(region)
    if len(inner) == 1 and len(between := _between(notes, inner[0], works)) > 2:
        return between, thrown
    return inner, thrown


def _between(notes: clocks.Notes, whole: Region, works) -> list[Region]:
    """What lies between two readings that follow one another, where all were kept as the time since the same first one:
    the script subtracts them where no reading is seen any more, in arrays."""
    since = [r for r in notes.regions.values() if r.between[0] == whole.between[0] and (r.kept or r.gone is None)]
    since.sort(key=lambda r: r.end)
    made = [
        Region(
            a.kind, a.clock, a.end, b.end, (b.end - a.end) / 1e3, a.end_via, b.end_via, kept=True, among=True,
            numbers=(a.between[1], b.numbers[1]), between=(a.between[1], b.between[1]), thread=a.thread,
        )
        for a, b in zip(since, since[1:])
    ]  # fmt: skip
    return [r for r in made if works(r)]


def among(notes: clocks.Notes, keys: set) -> bool:
    """Is one of these regions a sample, and no stretch of the program in which others were taken?"""
    every = sorted((r.start, r.end) for r in notes.regions.values())
    for region in (notes.regions[k] for k in keys):
        i, j = bisect.bisect_left(every, (region.start,)), bisect.bisect_right(every, (region.end,))
        if not any(end <= region.end and (start, end) != (region.start, region.end) for start, end in every[i:j]):
            return True
    return False


def _unused(place: list[Region]) -> list[Region]:
    """Of the readings at one place those that came to nothing: that reached no statistic where others did; and where
    none was seen to, as with pandas, those whose number was gone before two more were taken, where others are held."""
    if any(r.kept for r in place):
        return [r for r in place if not r.kept]
    held = []
    for r, after in zip(place, [*place[2:], *place[-1:] * 2]):
        if r.gone is None or r.gone > max(r.numbers[1], after.numbers[0]):
            held.append(r)
    return [r for r in place if r not in held] if len(held) >= 3 else []


def put_away(region: Region, inside: list, regions: list[Region], works) -> bool:
    """Was the reading done with before the same work was timed again, as in a warm-up that reads the
    clock? A number that was printed is put away as well: only a run with another first launch tells (check)."""
    used = region.touched if region.kept else region.gone
    if not inside or not used:
        return False
    return any(works(r) == works(region) for r in regions if r.numbers[0] > used)


class Deadlines:
    """Loops that work until so many seconds are over. A virtual second holds far more calls than the machine makes in
    one, and each of them is written down: 2 s of a small model took minutes. After so many the time is said to be
    over, and the clock goes on as before: what the loop took is seen by the readings behind it."""

    def __init__(self):
        self.looks: dict[tuple, list] = {}  # (line, since when, how long): [looks, ns at the first]

    def answers(self, place: tuple, value, limit, how: str, true: bool) -> bool:
        """What a script is told that asks at this line whether `value`, a time, is below a number, or above."""
        keys = getattr(value, "keys", ())
        if true is not (how in ("__lt__", "__le__")):
            return true  # it is over
        if hasattr(limit, "keys") or hasattr(limit, "reading") or len(keys) > 1:
            return true  # two of its own times
        now = clocks.lib().lab_host_ns()
        since = [key[:2] for key in keys]
        seen = self.looks.setdefault((place, *since, float(limit)), [0, now])
        seen[0] += 1
        return true if seen[0] <= _LOOKS or now - seen[1] <= _SPIN_NS * seen[0] else not true
