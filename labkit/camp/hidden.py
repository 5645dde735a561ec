"""More cases than a learner was shown, for exercises whose cases do not follow the seed.

The arguments of a shown case are changed a little, numbers by the class seed, and our own solution says what must come
out: results that no shown case has. Where results are few (a verdict, a name), arguments that were not shown, as many
of each result, so that no one answer is right for most. Such arguments may be unusual, and a right solution may see a
corner otherwise than ours: so only one that is wrong on half of them fails, which is what a solution does that has the
shown results written into it.
"""

from __future__ import annotations

import random
import time
from dataclasses import replace
from functools import lru_cache
from typing import Any

from labkit.camp import way, wire
from labkit.camp.asked import fields_of
from labkit.exercises import launch
from labkit.exercises.cases import Case
from labkit.exercises.diagnose import compare_values
from labkit.exercises.spec import load
from labkit.exercises.stub import template
from labkit.exercises.time_limit import TookTooLong, time_limit

COUNT, FEWEST, TURNS = 12, 4, 300  # cases drawn (with fewer that can be used nothing is said); draws for them


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
    rng, begin = random.Random(seed), time.monotonic()
    found: list[Case] = []
    alike: dict[bytes, list[Case]] = {}
    seen = {_bytes([replace(case, name="", expected=None)]) for case in shown}
    for turn in range(TURNS):
        if len(found) == COUNT or turn == 4 and not found and len(alike) < 2 and time.monotonic() - begin > 3:
            break  # enough, or a run that takes seconds and so far says nothing
        case = shown[turn % len(shown)]
        others = rng.choice(shown).args if turn >= TURNS // 3 else case.args  # later also arguments of two cases
        if list(map(type, others)) != list(map(type, case.args)):
            continue
        lengths = {} if rng.random() < 0.5 else None
        args = tuple(_changed(rng.choice(pair), rng, lengths) for pair in zip(case.args, others))
        try:
            with time_limit(2.0, 30.0), launch.quietly():
                made = replace(case, name=f"hidden {turn}", args=args)
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
        found = _evenly(found, alike)
    return tuple(found) if len(found) >= FEWEST else ()


def _evenly(found: list[Case], alike: dict[bytes, list[Case]]) -> list[Case]:
    """The cases of new results, and of at least two shown ones the same number each; [] where there are not two."""
    groups = sorted((g for g in alike.values() if len(g) > 1), key=len, reverse=True)[: COUNT // 2]
    if len(groups) < 2:
        return found
    each = min(len(groups[-1]), COUNT // len(groups))
    return found + [case for group in groups for case in group[:each]]


def _bytes(cases: list[Case]) -> bytes:
    return wire.encode([fields_of(c) for c in cases], functions=[])


def _differ(one: Any, other: Any, tolerance) -> bool:
    return compare_values(one, other, tolerance) is not None


def _changed(value: Any, rng: random.Random, lengths: dict[int, int] | None = None) -> Any:
    """lengths: those that lists of a length get in this case (longer ones), or None where each keeps its own. One for
    all of a length: what goes side by side still does. A tuple is a record and keeps its length. What rises still
    does: a right solution may rely on it.
    """
    if type(value) is bool:
        return rng.random() < 0.5
    if type(value) is int:
        return max(value + rng.randint(-(abs(value) // 3) - 1, abs(value) // 3 + 1), 1) if value > 0 else value
    if type(value) is float:
        return value * (0.5 + rng.random())
    if type(value) is list and value and lengths is not None:
        longer = lengths.setdefault(len(value), len(value) + rng.randint(1, len(value) + 1))
        more = [rng.randrange(len(value)) for _ in range(longer - len(value))]
        value = [value[k] for k in sorted([*range(len(value)), *more])]
    if type(value) in (list, tuple):
        made = type(value)(_changed(v, rng, lengths) for v in value)
        return sorted(made) if type(value) is list and _rises(value) else made
    if type(value) is dict:
        return {k: _changed(v, rng, lengths) for k, v in value.items()}
    return value


def _rises(value: list) -> bool:
    return len(value) > 1 and {*map(type, value)} <= {int, float} and value == sorted(value)


def wrong(exercise: str, seed: int, run) -> tuple[int, int]:
    """(cases on which run(case) is wrong or raises, cases). Half of them: the shown results are written into it."""
    cases, bad = derived(exercise, seed), 0
    for case in cases:
        try:
            bad += compare_values(run(case), case.expected, case.tolerance) is not None
        except (Exception, TookTooLong):
            bad += 1
    return bad, len(cases)
