"""A wrong solution that gives what a known-wrong one gives, on every case, has made the same mistake: its sentence says
more than a difference in numbers does. The known ones are the `[[mutant]]`s of the spec that have a `say`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from labkit.exercises import launch
from labkit.exercises.cases import Case
from labkit.exercises.diagnose import compare_values
from labkit.exercises.spec import Spec, pick
from labkit.exercises.stub import Template
from labkit.exercises.time_limit import TookTooLong, time_limit
from labkit.launch.record import LaunchError
from labkit.source.errors import CompileError


class Raised:
    """In place of a result: the function raised this."""

    def __init__(self, error: BaseException):
        self.name = getattr(error, "kind", type(error).__name__)


def sentence(spec: Spec, ours: Template, cases: list[Case], results: dict[int, Any]) -> str:
    """Of the known-wrong solution that agrees with `results` (id of a case -> what the learner's gave), else "".

    cases: those to compare, the most telling first, so that most candidates end at it. None is named where several
    agree, or where results are statements ("right": False), which many a mistake has in common.
    """
    if any(_statements(case.expected) for case in cases):
        return ""
    found = set()
    for mutant in spec.mutants:
        if not mutant.say:
            continue
        made = _build(spec, ours.mutant(mutant.regions, mutant.edit), ours)
        if made is not None and all(_same(_result(spec, made, case), results[id(case)]) for case in cases):
            found.add(pick(mutant.say))
    return found.pop() if len(found) == 1 else ""


def _statements(expected: Any) -> bool:
    """A few words of golden's own about the result, in place of the result."""
    if not isinstance(expected, dict):
        return False
    values = list(expected.values())
    return any(isinstance(v, bool) for v in values) or len(values) < 6 and all(isinstance(v, str) for v in values)


def _build(spec: Spec, cell: str, ours: Template):
    name = f"known mistake in {spec.id}"
    text = ours.join(cell, name).text
    try:
        with time_limit():
            return (
                launch.build(text, name, spec.entry)
                if spec.kind == "kernel"
                else launch.function(text, name, spec.entry)
            )
    except (CompileError, Exception, TookTooLong):
        return None


def _result(spec: Spec, made, case: Case) -> Any:
    try:
        if spec.kind == "kernel":
            return [out.got for out in launch.run_kernel(spec, made, case)[0]]
        with launch.quietly(), time_limit():
            return launch.run_function(spec, made, case)
    except (Exception, LaunchError, TookTooLong) as error:
        return Raised(error)


def _same(theirs: Any, mine: Any) -> bool:
    if isinstance(theirs, Raised) or isinstance(mine, Raised):
        return isinstance(theirs, Raised) and isinstance(mine, Raised) and theirs.name == mine.name
    if isinstance(theirs, list) and all(isinstance(a, np.ndarray) for a in theirs):
        return len(theirs) == len(mine) and all(
            a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(theirs, mine)
        )
    try:
        return type(theirs) is type(mine) and compare_values(mine, theirs) is None
    except Exception:  # something that cannot be compared is not the same
        return False
