"""Which exercises fit into how much time: syllabi.toml names them, and everything else is worked out from the
notebooks and exercises as they are now: in which notebook each stands, under which number, how many minutes it takes.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from labkit import messages
from labkit.exercises.order import _asked, notebook_of
from labkit.exercises.spec import SpecError, load, pick, tomllib
from labkit.notebook import source as reader


@dataclass(frozen=True)
class Part:
    """What is done from `start` on, minutes from the session's beginning."""

    start: int
    minutes: int
    what: str
    exercises: tuple[str, ...] = ()


@dataclass(frozen=True)
class Session:
    """room: minutes that there are; parts fill them, or less."""

    room: int
    parts: tuple[Part, ...]

    @property
    def minutes(self) -> int:
        return sum(p.minutes for p in self.parts)


@dataclass(frozen=True)
class Syllabus:
    id: str
    title: str
    sessions: tuple[Session, ...]

    @property
    def fits(self) -> bool:
        """Does every session leave room for questions, a twentieth to two fifths of it?"""
        return all(0.6 * s.room <= s.minutes <= 0.95 * s.room for s in self.sessions)

    @property
    def exercises(self) -> list[str]:
        return [e for s in self.sessions for p in s.parts for e in p.exercises]

    @property
    def notebooks(self) -> list[str]:
        """Numbers, in the order in which they are needed: what `labkit release` takes."""
        return list(dict.fromkeys(notebook_of(e) for e in self.exercises))

    def _rows(self) -> list[tuple[str, str, str, str]]:
        rows = []
        for k, session in enumerate(self.sessions, 1):
            for p in session.parts:
                clock = f"{p.start // 60}:{p.start % 60:02}"
                rows.append((f"{k}  {clock}" if len(self.sessions) > 1 else clock, str(p.minutes), p.what,
                             " ".join(p.exercises)))  # fmt: skip
        return rows

    def _totals(self) -> list[str]:
        return [messages.text("camp.syllabus-total", number=k, minutes=s.minutes, room=s.room)
                for k, s in enumerate(self.sessions, 1)]  # fmt: skip

    def __str__(self) -> str:
        table = [f"{when:>7} {minutes:>3}  {what}  {names}".rstrip() for when, minutes, what, names in self._rows()]
        return "\n".join([self.title, *table, *self._totals()])

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        cells = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(c)}</td>" for c in row) + "</tr>"
            for row in self._rows()
        )
        names = ("when", "minutes", "what", "exercises")
        heads = "".join(f"<th style='text-align:left'>{messages.text(f'camp.syllabus-{n}')}</th>" for n in names)
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table>"
        return {"text/plain": str(self), "text/html": f"{table}<p>{' '.join(self._totals())}</p>"}


@lru_cache(maxsize=1)
def _table() -> list[dict]:
    return tomllib.loads((Path(__file__).parent / "syllabi.toml").read_text(encoding="utf-8"))["syllabus"]


def names() -> list[str]:
    return [s["id"] for s in _table()]


def syllabus(name: str) -> Syllabus:
    """One of names(). Raises ValueError; SpecError where it names an exercise that no notebook asks."""
    found = next((s for s in _table() if s["id"] == name), None)
    if found is None:
        raise ValueError(f"no syllabus {name!r}; there are {', '.join(names())}")
    sessions = []
    for session in found["session"]:
        parts, at = [], 0
        for part in session["parts"]:
            parts.append(_part(part, at))
            at += parts[-1].minutes
        sessions.append(Session(session["minutes"], tuple(parts)))
    return Syllabus(name, pick(found["title"]), tuple(sessions))


def _part(part: dict, at: int) -> Part:
    if "rest" in part:
        return Part(at, part["rest"], messages.text("camp.syllabus-rest"))
    if "talk" in part:
        return Part(at, part["minutes"], pick(part["talk"]))
    books = list(dict.fromkeys(map(notebook_of, part["do"])))
    if "" in books:
        raise SpecError(f"syllabi.toml: no notebook asks {[e for e in part['do'] if not notebook_of(e)]}")
    minutes = sum(_reading(book, [e for e in part["do"] if notebook_of(e) == book]) for book in books)
    minutes += sum(load(e).minutes for e in part["do"])
    what = "; ".join(f"{book} {_notebook(book).title[messages.language()]}" for book in books)
    return Part(at, math.ceil(minutes), what, tuple(part["do"]))


@lru_cache(maxsize=64)
def _notebook(number: str) -> reader.Source:
    return next(reader.read(p) for p in reader.sources() if p.name.startswith(number))


def _reading(book: str, chosen: list[str]) -> float:
    """Minutes of reading and looking that go with some of a notebook's exercises: what its own minutes leave beside
    all of them, a third at least, by their share.
    """
    whole = _notebook(book).minutes
    every = sum(load(e).minutes for e, b in _asked().items() if b == book)
    return max(whole - every, whole / 3) * sum(load(e).minutes for e in chosen) / every
