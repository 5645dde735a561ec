"""More cases than a learner was shown, for exercises whose cases do not follow the seed.

The arguments of a shown case are changed a little, numbers by the class seed, and our own solution says what must come
out: results that no shown case has. Where results are few (a verdict, a name), arguments that were not shown, as many
of each result, so that no one answer is right for most. Such arguments may be unusual, and a right solution may see a
corner otherwise than ours: so only one that is wrong on half of them fails, which is what a solution does that has the
shown results written into it. Each kind of change counts alone: a solution may have written down how large numbers are
in the shown cases, how small, or how long lists, and is then right on all the others.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from labkit.camp import way, wire
from labkit.camp.asked import fields_of
from labkit.exercises import launch
from labkit.exercises.cases import Case
from labkit.exercises.diagnose import compare_values
from labkit.exercises.spec import Spec, load
from labkit.exercises.stub import template
from labkit.exercises.time_limit import TookTooLong, time_limit

FEWEST = 4  # of a kind; with fewer that can be used it says nothing
# kind of change: cases that are drawn, draws for them, powers of ten that numbers change by
KINDS = {"near": (12, 300, (0, 0)), "up": (6, 60, (2, 4)), "down": (6, 60, (-4, -2)), "long": (6, 60, (0, 0))}
SMALL, LONG = 16, 100  # whole numbers that are counts and places, so far as one can see; elements that a list gets


@lru_cache(maxsize=256)
def derived(exercise: str, seed: int) -> tuple[Case, ...]:
    """() where the exercise's own cases follow the seed, where golden.py's `run` needs the function itself, or where
    too few changed arguments mean something to our solution.
    """
    spec = load(exercise)
    if spec.kind != "python" or spec.on_device or spec.run and way.way(spec) != "proxy":
        return ()
    shown = spec.function(spec.cases)(0, False)
    try:
        if _bytes(shown) != _bytes(spec.function(spec.cases)(seed, False)):
            return ()
    except wire.NotPlain:
        return ()
    ours, name = template(spec), f"hidden cases of {exercise}"
    function = launch.function(ours.join(ours.solution(), name).text, name, spec.entry)
    made: list[Case] = []
    for kind in KINDS:
        made += _of_kind(kind, spec, function, shown, random.Random(f"{seed} {kind}"))
        if not made:  # what changes a little says nothing, or a run takes seconds
            break
    return tuple(made)


def _of_kind(kind: str, spec: Spec, function: Callable, shown: list[Case], rng: random.Random) -> list[Case]:
    begin, (count, turns, powers) = time.monotonic(), KINDS[kind]
    found: list[Case] = []
    alike: dict[bytes, list[Case]] = {}
    seen = {_bytes([replace(case, name="", expected=None)]) for case in shown}
    shares = _shares([case.args for case in shown])
    for turn in range(turns):
        if len(found) == count or turn == 4 and not found and len(alike) < 2 and time.monotonic() - begin > 3:
            break  # enough, or a run that takes seconds and so far says nothing
        case = shown[turn % len(shown)]
        others = rng.choice(shown).args if turn >= turns // 3 else case.args  # later also arguments of two cases
        if list(map(type, others)) != list(map(type, case.args)):
            continue
        lengths = {} if kind == "long" or kind == "near" and rng.random() < 0.5 else None
        how = _How(rng, 10.0 ** rng.uniform(*powers), lengths, LONG if kind == "long" else 0)
        try:
            args = tuple(how.changed(rng.choice(pair), share) for *pair, share in zip(case.args, others, shares))
            if kind != "near" and not how.far:
                continue
            with time_limit(2.0, 30.0), launch.quietly():
                made = replace(case, name=f"{kind} {turn}", args=args)
                key = _bytes([replace(made, name="", expected=None)])
                if key in seen:
                    continue
                seen.add(key)
                made = replace(made, expected=launch.run_function(spec, function, made))
                result = wire.encode([made.expected])
                if spec.run and result != wire.encode([launch.run_function(spec, function, made)]):
                    continue  # golden.py's run compares with what the case expects
                new = all(_differ(made.expected, other.expected, case.tolerance) for other in shown)
        except (Exception, TookTooLong):
            continue
        if new:
            found.append(made)
        else:
            alike.setdefault(result, []).append(made)
    if len(found) < FEWEST:
        found = _evenly(found, alike, count)
    return found if len(found) >= FEWEST else []


def _shares(shown: list[tuple]) -> list[bool]:
    """Of each argument, whether no number in it is above 1 in any shown case: a share, a chance, which stays one."""
    most = [0.0] * max(map(len, shown), default=0)
    for args in shown:
        for k, value in enumerate(args):
            most[k] = max(most[k], *_numbers(value))
    return [m <= 1 for m in most]


def _numbers(value: Any) -> list[float]:
    if type(value) in (int, float):
        return [0.0, abs(value)]
    parts = value.values() if type(value) is dict else vars(value).values() if type(value) is SimpleNamespace else value
    if type(value) in (list, tuple, dict, SimpleNamespace):
        return [0.0, *(x for part in parts for x in _numbers(part))]
    if type(value).__name__ == "DataFrame":
        return [0.0, *(float(value[name].abs().max()) for name in _float_columns(value) if len(value))]
    if _is_floating(value):
        return [0.0, *([float(value.abs().max())] if value.numel() else [])]
    return [0.0]


def _float_columns(frame) -> list:
    return [name for name in frame.columns if frame[name].dtype.kind == "f"]


def _is_floating(value: Any) -> bool:
    return callable(getattr(value, "is_floating_point", None)) and value.is_floating_point()


def _evenly(found: list[Case], alike: dict[bytes, list[Case]], count: int) -> list[Case]:
    """The cases of new results, and of at least two shown ones the same number each; [] where there are not two."""
    groups = sorted((g for g in alike.values() if len(g) > 1), key=len, reverse=True)[: count // 2]
    if len(groups) < 2:
        return found
    each = min(len(groups[-1]), count // len(groups))
    return found + [case for group in groups for case in group[:each]]


def _bytes(cases: list[Case]) -> bytes:
    return wire.encode([fields_of(c) for c in cases], functions=[])


def _differ(one: Any, other: Any, tolerance) -> bool:
    return compare_values(one, other, tolerance) is not None


@dataclass
class _How:
    """One case's change. times: what its large numbers are multiplied by, beside the little that each changes by
    itself. lengths: those that lists of a length get in this case (longer ones), or None where each keeps its own. One
    for all of a length: what goes side by side still does. A tuple is a record and keeps its length. What rises still
    does: a right solution may rely on it. least: how many more elements a list gets at least, 0 for up to twice as
    many. far: whether `times` or `least` has changed something."""

    rng: random.Random
    times: float
    lengths: dict[int, int] | None
    least: int
    far: bool = False

    def changed(self, value: Any, share: bool) -> Any:
        """share: its numbers stay below 1."""
        rng, times = self.rng, min(self.times, 1.0) if share else self.times
        if type(value) is bool:
            return rng.random() < 0.5
        if type(value) is int:
            near = max(value + rng.randint(-(abs(value) // 3) - 1, abs(value) // 3 + 1), 1) if value > 0 else value
            return near if abs(near) <= SMALL or times == 1 else round(near * self._far(times)) or 1
        if type(value) is float:
            return value * (0.5 + rng.random()) * self._far(times)
        if type(value) is list and value and self.lengths is not None:
            value = [value[k] for k in self._places(len(value))]
        if type(value) in (list, tuple):
            made = type(value)(self.changed(v, share) for v in value)
            return sorted(made) if type(value) is list and _rises(value) else made
        if type(value) is dict:
            return {k: self.changed(v, share) for k, v in value.items()}
        if type(value) is SimpleNamespace:
            return SimpleNamespace(**{k: self.changed(v, share) for k, v in vars(value).items()})
        if type(value).__name__ == "DataFrame" and len(value):
            if self.lengths is not None:
                value = value.iloc[self._places(len(value))].reset_index(drop=True)
            factor = (0.5 + rng.random()) * self._far(times)  # one for all: what begins behind another's end still does
            return value.assign(**{name: value[name] * factor for name in _float_columns(value)})
        if _is_floating(value) and not value.requires_grad:
            return value * (0.5 + rng.random()) * self._far(times)
        return value

    def _far(self, times: float) -> float:
        self.far |= times != 1
        return times

    def _places(self, length: int) -> list[int]:
        """Which elements of a list of this length the longer one has."""
        more = self.rng.randint(self.least, 3 * self.least) if self.least else self.rng.randint(1, length + 1)
        self.far |= self.least > 0
        longer = self.lengths.setdefault(length, length + more)
        return sorted([*range(length), *(self.rng.randrange(length) for _ in range(longer - length))])


def _rises(value: list) -> bool:
    return len(value) > 1 and {*map(type, value)} <= {int, float} and value == sorted(value)


def wrong(exercise: str, seed: int, run) -> tuple[int, int]:
    """(cases on which run(case) is wrong or raises, cases): of those kinds of change of which half is wrong, else of
    all. Half of a kind: the shown results, or how large and long things are there, are written into it."""
    told: dict[str, list[bool]] = {}
    for case in derived(exercise, seed):
        try:
            bad = compare_values(run(case), case.expected, case.tolerance) is not None
        except (Exception, TookTooLong):
            bad = True
        told.setdefault(case.name.split()[0], []).append(bad)
    fooled = [one for one in told.values() if 2 * sum(one) >= len(one)]
    return sum(map(sum, fooled or told.values())), sum(map(len, fooled or told.values()))
