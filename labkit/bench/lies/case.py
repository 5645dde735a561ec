"""What the rules look at: a run as it was seen, its text, and what belongs together in it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

from labkit import messages
from labkit.bench.lies import words
from labkit.bench.lies.reading import Text, says

KINDS = (
    "warmup", "compile", "recompile", "no_sync", "sync_loop", "no_work", "mismatch", "inside", "hot_cache", "timer",
    "spread", "dropped", "one_shape", "order",
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """kind: one of KINDS. line: in `file`. numbers: the evidence."""

    kind: str
    file: str
    line: int
    variant: str = ""
    numbers: dict = field(default_factory=dict, hash=False, compare=False)

    def lines(self, lang: str | None = None) -> list[str]:
        """[what was seen, why it matters, what to do]."""
        key = f"lies.{self.kind}.{self.variant}" if self.variant else f"lies.{self.kind}"
        return messages.lines(key, lang=lang, **self.numbers)

    def __str__(self) -> str:
        what, why, mend = self.lines()
        return f"{self.file}:{self.line}: {self.kind}: {what}\n    {why}\n    {mend}"


@dataclass
class Observed:
    """One run of the script: the regions of watch.py, what it printed, and the same regions with an L2 that each kernel
    finds empty (None: not run). held: those of a run that asked what the L2 holds (None: not run). memory: the script
    speaks of what comes from memory. slow: the run where first launches and compilations take longer (None: not run).
    quick: the one where first launches take no longer (None: not run). failed: the script ended early. apart:
    candidates that give different results of the same tensors (values.py)."""

    regions: list[dict]
    output: str
    cold: list[dict] | None = None
    held: list[dict] | None = None
    memory: bool = False
    slow: Observed | None = None
    quick: Observed | None = None
    failed: bool = False
    compared: list = field(default_factory=list)
    apart: list[dict] = field(default_factory=list)


class Case:
    """What the rules look at."""

    def __init__(self, text: Text, seen: Observed, script: str):
        self.text, self.seen, self.script = text, seen, script
        regions, self.once = seen.regions, set()
        self.claims = f"{seen.output}\n{text.strings}"
        if words.once(self.claims):  # what a compilation or a first call takes, given on its own
            single = [g for g in by_place(regions).values() if _first_ones(g)]
            anew = {"_dynamo", "reset"} <= text.words or "NPUGraph" in text.words  # each one is asked for
            self.once = {id(r) for g in single if anew or len(g) <= len({signature(r) for r in g}) for r in g}
            regions = [r for r in regions if id(r) not in self.once] or regions
        self.regions = regions
        said = "\n".join(line for line in self.claims.split("\n") if not says(words.NO_COMPARISON, line))
        self.compares = bool(says(words.COMPARES, re.sub(words.CHECKED, "", said, flags=re.IGNORECASE)))
        self.operators = {tuple(place) for r in regions for place in r["callers"]}  # these lines sum up no samples
        places = [place not in self.operators for place in text.spreads]
        self.spread = any(places) or not places and bool(says(words.PERCENTILES, seen.output))
        self.kit = any(r["kit"] for r in regions)  # its reports have intervals, but for who takes the mean alone
        self.spread |= self.kit and (
            "mean" not in text.words or bool(text.words & {"median", "percentile", "std", "row"})
        )
        self.groups: dict[tuple, list[dict]] = defaultdict(list)
        for r in regions:
            self.groups[place_of(r), signature(r)].append(r)
        alone: dict[tuple, int] = defaultdict(int)
        for key, group in self.groups.items():
            for r in group:
                alone[key, str(r["callers"])] += bool(r["alone"])
        self.spread |= max(alone.values(), default=0) >= 2  # the least and the most, or all

    def find(self, kind: str, place, variant: str = "", **numbers) -> Finding:
        file, line = (place[0], place[1]) if place else (self.script, 1)
        return Finding(kind, file.rpartition("/")[2], line, variant, {k: shown(v) for k, v in numbers.items()})


def _first_ones(group: list[dict]) -> bool:
    """First launches and compilations: all, or of one for each of a few sizes the first, for which all was made."""
    made = [bool(r["graphs"] or r["first"]) for r in sorted(group, key=lambda r: r["start"])]
    return all(made) or made[0] and len(group) <= len({signature(r) for r in group})


def place_of(r: dict) -> tuple:
    return tuple(map(tuple, r["via"]))


def signature(r: dict) -> tuple:
    return tuple(r["names"]), tuple(map(tuple, r["shapes"])), tuple(r["dtypes"]), tuple(r["on_host"])


def shown(value):
    if isinstance(value, float):
        return f"{value:.3g}" if value < 10 else f"{value:,.0f}"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple, set)) else value


def names_of(names, most: int = 3) -> str:
    names = sorted({n.rpartition("::")[2] for n in names})
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def by_place(regions: list[dict]) -> dict[tuple, list[dict]]:
    groups: dict[tuple, list[dict]] = defaultdict(list)
    for r in regions:
        groups[place_of(r)].append(r)
    return groups


def largest_of(shapes) -> tuple:
    return max(shapes, key=lambda s: (prod(s), s), default=())


def sides_of(c: Case) -> dict[tuple, list[dict]]:
    """The candidates of comparisons: regions by what runs, where it is called from, and the shapes."""
    sides: dict[tuple, list[dict]] = defaultdict(list)
    for r in c.regions:
        if r["kernels"] or r["on_host"]:
            callers = tuple(map(tuple, r["callers"]))
            what = tuple(r["names"]), tuple(r["dtypes"]), place_of(r), tuple(sorted(r["on_host"])), callers
            sides[what, shapes_of(r)].append(r)
    return sides


def shapes_of(r: dict) -> tuple:
    return tuple(sorted(map(tuple, r["shapes"] or r["host_shapes"])))


def pairs_of(sides: dict[tuple, list[dict]]) -> Iterator[tuple[list[dict], list[dict]]]:
    """Two that do different things to tensors of the same size."""
    keys = list(sides)
    for i, (what, shapes) in enumerate(keys):
        for other, its in keys[i + 1 :]:
            if what != other and shapes and its and largest_of(shapes) in its and largest_of(its) in shapes:
                yield sides[what, shapes], sides[other, its]


def inputs_shared(sides: dict[tuple, list[dict]]) -> Iterator[tuple[list[dict], list[dict]]]:
    """Two that the same lines measure, called from different ones, that begin with tensors of the same shape and end
    with the same, whatever lies between: fused and composed."""
    for (what, one), (other, two) in combinations(((key[0], side[0]) for key, side in sides.items()), 2):
        if what[2][:1] == other[2][:1] and what[4] != other[4]:
            if all(_folded(one[end]) & _folded(two[end]) for end in ("takes", "gives")):
                yield sides[what, shapes_of(one)], sides[other, shapes_of(two)]


def _folded(shapes) -> set[tuple]:
    """Shapes with one batch dimension: (2, 4, 128, 64) is (8, 128, 64)."""
    return {(prod(s[:-2]), *s[-2:]) for s in shapes if s}


def answers_request(c: Case, r: dict) -> bool:
    """The latency of a request: its wait is that for the answer, which the host reads within the sample. Where the
    report speaks of requests or copies, not of latency alone, it may wait once more just before it reads, or, of
    requests or end to end, at the end of a sample that brings its input."""
    asked, moved = says(words.ASKED, c.claims), says(words.TRANSFER, c.claims)
    reads = r["waits_by_reading"] and (asked or moved)
    more = 1 if reads or asked and r["waits"] == 1 and not r["waits_before_last"] else 0
    said = asked or moved or says(words.REQUEST, c.claims)
    return r["kind"] == "host" and r["copies"] > 0 and r["waits"] - r["waits_by_reading"] <= more and bool(said)
