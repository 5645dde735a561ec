"""The order in which the workbook asks its exercises: that of the notebooks' sources, stage by stage."""

from __future__ import annotations

import re
from functools import lru_cache

from labkit import paths
from labkit.exercises.spec import folders

_MARK = re.compile(r"^<!-- exercise: (\w+)", re.M)


@lru_cache(maxsize=1)
def _asked() -> dict[str, str]:
    """Exercise -> the number of the notebook that asks it, "01.02"."""
    asked: dict[str, str] = {}
    for file in sorted((paths.repo_root() / "notebooks" / "source").glob("*.md")):
        for name in _MARK.findall(file.read_text(encoding="utf-8")):
            asked.setdefault(name, file.name[:5])
    return asked


def notebook_of(exercise_id: str) -> str:
    """ "01.02"; "" where no notebook asks it."""
    return _asked().get(exercise_id, "")


def in_order() -> list[str]:
    """Every exercise of the checkout; those that no notebook asks come last, by operator and id."""
    known = folders()
    asked = [name for name in _asked() if name in known]
    return asked + [name for name in known if name not in _asked()]


def following(exercise_id: str, passed: set[str]) -> str:
    """The next one that has not been passed: behind this one, else from the beginning; "" when all are."""
    names = in_order()
    at = names.index(exercise_id) + 1 if exercise_id in names else 0
    return next((n for n in names[at:] + names[:at] if n not in passed and n != exercise_id), "")
