"""More cases than a learner was shown, for exercises whose cases do not follow the seed.

The arguments of a shown case are changed a little, numbers by the class seed, and our own solution says what must come
out. Such arguments may be unusual, and a right solution may see a corner otherwise than ours: so only one that is wrong
on most of them fails, which is what a solution does that has the shown results written into it.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import lru_cache
from typing import Any

from labkit.camp import wire
from labkit.camp.asked import fields_of
from labkit.exercises import launch
from labkit.exercises.cases import Case
from labkit.exercises.diagnose import compare_values
from labkit.exercises.spec import load
from labkit.exercises.stub import template
from labkit.exercises.time_limit import TookTooLong, time_limit

COUNT, FEWEST = 12, 4  # cases drawn; with fewer that can be used nothing is said


@lru_cache(maxsize=256)
def derived(exercise: str, seed: int) -> tuple[Case, ...]:
    """() where the exercise's own cases follow the seed, where golden.py's `run` looks at the function, or where too
    few changed arguments mean something to our solution.
    """
    spec = load(exercise)
    if spec.kind != "python" or spec.run or spec.on_device:
        return ()
    shown = spec.function(spec.cases)(0, False)
    try:
        if _bytes(shown) != _bytes(spec.function(spec.cases)(seed, False)):
            return ()
    except wire.NotPlain:
        return ()
    ours, name, rng = template(spec), f"hidden cases of {exercise}", random.Random(seed)
    function = launch.function(ours.join(ours.solution(), name).text, name, spec.entry)
    found: list[Case] = []
    for turn in range(10 * COUNT):
        case = shown[turn % len(shown)]
        args = tuple(_changed(a, rng) for a in case.args)
        try:
            with time_limit(2.0, 30.0), launch.quietly():
                made = replace(case, name=f"hidden {turn}", args=args)
                made = replace(made, expected=launch.run_function(spec, function, made))
                wire.encode([fields_of(made), made.expected])
                new = all(_differ(made.expected, other.expected, case.tolerance) for other in shown)
        except (Exception, TookTooLong):
            continue
        if new:
            found.append(made)
        if len(found) == COUNT:
            break
    return tuple(found) if len(found) >= FEWEST else ()


def _bytes(cases: list[Case]) -> bytes:
    return wire.encode([fields_of(c) for c in cases], functions=[])


def _differ(one: Any, other: Any, tolerance) -> bool:
    return compare_values(one, other, tolerance) is not None


def _changed(value: Any, rng: random.Random) -> Any:
    if type(value) is int:
        return max(value + rng.randint(-(abs(value) // 3) - 1, abs(value) // 3 + 1), 1) if value > 0 else value
    if type(value) is float:
        return value * (0.5 + rng.random())
    if type(value) in (list, tuple):
        return type(value)(_changed(v, rng) for v in value)
    if type(value) is dict:
        return {k: _changed(v, rng) for k, v in value.items()}
    return value


def wrong(exercise: str, seed: int, run) -> tuple[int, int]:
    """(cases on which run(case) is wrong or raises, cases). Most of them: the shown results are written into it."""
    cases, bad = derived(exercise, seed), 0
    for case in cases:
        try:
            bad += compare_values(run(case), case.expected, case.tolerance) is not None
        except (Exception, TookTooLong):
            bad += 1
    return bad, len(cases)
