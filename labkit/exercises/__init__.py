"""Exercises: find, read, check, hint, predict; and the learner's progress.

ex = labkit.exercise("copy_tail")      ex.brief() ex.check() ex.hint() ex.reset() ex.compare() ex.give_up()
"""

from __future__ import annotations

from pathlib import Path

from labkit.exercises.cases import Case, InOut, OnFirstCard, OnHost, Out, Refuses
from labkit.exercises.handle import Exercise
from labkit.exercises.judge import check
from labkit.exercises.prediction import predict
from labkit.exercises.progress_log import Progress
from labkit.exercises.progress_log import progress as _progress
from labkit.exercises.result import CheckFailed, Result
from labkit.exercises.spec import SpecError, load

__all__ = [
    "Case",
    "CheckFailed",
    "Exercise",
    "InOut",
    "OnFirstCard",
    "OnHost",
    "Out",
    "Progress",
    "Refuses",
    "Result",
    "SpecError",
    "check",
    "exercise",
    "hint",
    "predict",
    "progress",
]


def exercise(exercise_id: str) -> Exercise:
    """The exercise of this id. Raises SpecError for an unknown one."""
    return Exercise(load(exercise_id))


def hint(exercise_id: str):
    """The next hint: one level a call."""
    return exercise(exercise_id).hint()


def progress(path: str | Path | None = None, *, only: str | tuple[str, ...] = "") -> Progress:
    """What has been tried and passed, from the log (labkit.exercises.progress_log.log_path).
    only: ids that begin with this, or one of these.
    """
    return _progress(Path(path) if path else None, only)
