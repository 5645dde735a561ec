"""Exercises: find, read, check, hint, predict; and the learner's progress.

    ex = labkit.exercise("copy_tail")      ex.brief() ex.check() ex.hint() ex.reset() ex.compare() ex.give_up()

The package is itself callable, because `labkit.exercise` names both the function and this package.
"""
from __future__ import annotations

import sys
import types
from pathlib import Path

from labkit.exercise.cases import Case, InOut, OnHost, Out, Refuses
from labkit.exercise.check import check
from labkit.exercise.handle import Exercise
from labkit.exercise.predict import predict
from labkit.exercise.progress import Progress
from labkit.exercise.progress import progress as _progress
from labkit.exercise.result import CheckFailed, Result
from labkit.exercise.spec import SpecError, load

__all__ = ["Case", "CheckFailed", "Exercise", "InOut", "OnHost", "Out", "Progress", "Refuses", "Result", "SpecError", "check", "exercise", "hint", "predict", "progress"]


def exercise(exercise_id: str) -> Exercise:
    """The exercise of this id. Raises SpecError for an unknown one."""
    return Exercise(load(exercise_id))


def hint(exercise_id: str):
    """The next hint: one level a call."""
    return exercise(exercise_id).hint()


def progress(path: str | Path | None = None, *, only: str | tuple[str, ...] = "") -> Progress:
    """What has been tried and passed, from the log (labkit.exercise.progress.log_path). only: ids that begin with this, or one of these."""
    return _progress(Path(path) if path else None, only)


class _Callable(types.ModuleType):
    def __call__(self, exercise_id: str) -> Exercise:
        return exercise(exercise_id)


sys.modules[__name__].__class__ = _Callable
