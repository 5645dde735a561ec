"""What golden.py knows besides a case's expected result: what else was asked, wrong results that have a name, and
whether an exception of its own comes from what the learner's code returned.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from labkit.exercises import launch
from labkit.exercises.cases import Case, tolerance_of
from labkit.exercises.diagnose import Diagnosis, mismatches, tensor_to_numpy
from labkit.exercises.place import Here
from labkit.exercises.spec import Spec
from labkit.exercises.stub import Joined, template
from labkit.exercises.time_limit import TookTooLong, time_limit
from labkit.source.errors import CompileError


def unmet(spec: Spec, joined: Joined, name: str, at: Here, cases: int) -> Diagnosis | None:
    """Of an answer that is right in all cases: what it was asked and does not do, by golden's `asked`."""

    def builds(text: str, entry: str) -> bool:
        try:
            return not isinstance(at.build(replace(spec, entry=entry), replace(joined, text=text), name), Diagnosis)
        except CompileError:
            return False

    say = spec.function(spec.asked)(joined.text, builds) if spec.asked else ""
    return Diagnosis("not-asked", {"cases": cases}, say=say) if say else None


def works_with_ours(spec: Spec, case: Case) -> bool:
    """Does golden.py get through this case with our own solution? Then what it raises with another is not its fault."""
    ours = template(spec)
    with contextlib.suppress(Exception, TookTooLong), launch.quietly(), time_limit():
        made = launch.function(ours.join(ours.solution(), "solution").text, f"solution {spec.id}", spec.entry)
        launch.run_function(spec, made, case)
        return True
    return False


def named_result(cases: list[Case], result_of: Callable[[Case], Any]) -> str:
    """The sentence of the one wrong result, of those that the cases name, that every one of them gave; "" for none.
    cases: those that failed. result_of: what came out, a list of arrays of a kernel."""
    agreed: set[str] | None = None
    for case in cases:
        got = result_of(case)
        if case.mistakes is None or not isinstance(got, list) or not all(isinstance(a, np.ndarray) for a in got):
            continue
        here = {say for say, wrong in case.mistakes() if _agrees(got, wrong, case)}
        agreed = here if agreed is None else agreed & here
    return next(iter(agreed)) if agreed and len(agreed) == 1 else ""


def _agrees(got: list[np.ndarray], wrong: Any, case: Case) -> bool:
    """Is it that wrong result, and nearer to it than the tolerance tells it from the right one?"""
    wrong = wrong if isinstance(wrong, (tuple, list)) else (wrong,)
    right = case.expected if isinstance(case.expected, (tuple, list)) else (case.expected,)
    differs = False
    for mine, theirs, ours in zip(got, wrong, right):
        (array, dtype), (true, _) = _array(theirs), _array(ours)
        limits = tolerance_of(dtype, case.tolerance)
        if mine.shape != array.shape or mismatches(mine, array, *limits).any():
            return False
        differs |= bool(mismatches(array, true, *limits).any())
    return differs


def _array(value: Any) -> tuple[np.ndarray, str]:
    return tensor_to_numpy(value) if hasattr(value, "detach") else (np.asarray(value), str(np.asarray(value).dtype))
