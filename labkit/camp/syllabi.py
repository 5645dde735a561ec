"""Which exercises fit into how much time: syllabi.toml names them, and everything else is worked out from the
notebooks and exercises as they are now: in which notebook each stands, under which number, how many minutes it takes.

Minutes are the authors' until a class has been there: with its report (labkit report) they are what its learners took.
How long the machine works is measured: data/notebook_seconds.csv, by labkit.notebook.verify --notebooks --times.
"""

from __future__ import annotations

import csv
import html
import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median

from labkit import messages, paths
from labkit.exercises.order import _asked, notebook_of
from labkit.exercises.spec import SpecError, load, pick, tomllib
from labkit.notebook import source as reader

LEAST = 3  # learners, from whom on a median says more than the authors


@dataclass(frozen=True)
class Part:
    """What is done from `start` on, minutes from the session's beginning. machine_s: for which the cells of these
    notebooks run, solved, on two cores. measured: how many of the exercises have a class's minutes."""

    start: int
    minutes: int
    what: str
    exercises: tuple[str, ...] = ()
    machine_s: float = 0.0
    measured: int = 0


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

    def _rows(self) -> list[tuple[str, ...]]:
        rows = []
        for k, session in enumerate(self.sessions, 1):
            for p in session.parts:
                clock = f"{p.start // 60}:{p.start % 60:02}"
                rows.append((f"{k}  {clock}" if len(self.sessions) > 1 else clock, str(p.minutes),
                             f"{p.machine_s:.0f}" if p.machine_s else "", p.what, " ".join(p.exercises)))  # fmt: skip
        return rows

    def _totals(self) -> list[str]:
        said = [messages.text("camp.syllabus-total", number=k, minutes=s.minutes, room=s.room)
                for k, s in enumerate(self.sessions, 1)]  # fmt: skip
        measured = sum(p.measured for s in self.sessions for p in s.parts)
        if measured:
            said.append(messages.text("camp.syllabus-measured", count=measured, all=len(self.exercises)))
        return said

    def __str__(self) -> str:
        table = [f"{when:>7} {minutes:>3} {machine:>4}  {what}  {names}".rstrip()
                 for when, minutes, machine, what, names in self._rows()]  # fmt: skip
        return "\n".join([self.title, *table, *self._totals()])

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        cells = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(c)}</td>" for c in row) + "</tr>"
            for row in self._rows()
        )
        names = ("when", "minutes", "machine", "what", "exercises")
        heads = "".join(f"<th style='text-align:left'>{messages.text(f'camp.syllabus-{n}')}</th>" for n in names)
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table>"
        return {"text/plain": str(self), "text/html": f"{table}<p>{' '.join(self._totals())}</p>"}


@lru_cache(maxsize=1)
def _table() -> list[dict]:
    return tomllib.loads((Path(__file__).parent / "syllabi.toml").read_text(encoding="utf-8"))["syllabus"]


def names() -> list[str]:
    return [s["id"] for s in _table()]


def syllabus(name: str, report: str | Path | None = None) -> Syllabus:
    """One of names(). report: the report.csv of a class that was there: an exercise that LEAST of its learners solved
    or more takes the median of their minutes, reading included. Raises ValueError; FileNotFoundError; SpecError where
    it names an exercise that no notebook asks.
    """
    taken = _taken(Path(report)) if report is not None else {}
    found = next((s for s in _table() if s["id"] == name), None)
    if found is None:
        raise ValueError(f"no syllabus {name!r}; there are {', '.join(names())}")
    sessions = []
    for session in found["session"]:
        parts, at = [], 0
        for part in session["parts"]:
            parts.append(_part(part, at, taken))
            at += parts[-1].minutes
        sessions.append(Session(session["minutes"], tuple(parts)))
    return Syllabus(name, pick(found["title"]), tuple(sessions))


def _taken(report: Path) -> dict[str, float]:
    """Exercise -> median of the minutes of those who solved it."""
    with open(report, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if rows and not {"exercise", "state", "spent"} <= set(rows[0]):
        raise ValueError(messages.text("camp.no-report", file=report))
    minutes: dict[str, list[float]] = {}
    for row in rows:
        if row["state"] == "PASS" and row["spent"]:
            minutes.setdefault(row["exercise"], []).append(float(row["spent"]))
    return {name: median(taken) for name, taken in minutes.items() if len(taken) >= LEAST}


@lru_cache(maxsize=1)
def _seconds() -> dict[str, float]:
    """Notebook -> seconds that its cells take, solved."""
    with open(paths.repo_root() / "data" / "notebook_seconds.csv", newline="", encoding="utf-8") as file:
        return {row["notebook"]: float(row["seconds"]) for row in csv.DictReader(file) if row["reading"] == "solved"}


def _part(part: dict, at: int, taken: dict[str, float]) -> Part:
    if "rest" in part:
        return Part(at, part["rest"], messages.text("camp.syllabus-rest"))
    if "talk" in part:
        return Part(at, part["minutes"], pick(part["talk"]))
    books = list(dict.fromkeys(map(notebook_of, part["do"])))
    if "" in books:
        raise SpecError(f"syllabi.toml: no notebook asks {[e for e in part['do'] if not notebook_of(e)]}")
    guessed = [e for e in part["do"] if e not in taken]
    minutes = sum(_reading(book, [e for e in guessed if notebook_of(e) == book]) for book in books)
    minutes += sum(load(e).minutes for e in guessed) + sum(taken.get(e, 0.0) for e in part["do"])
    what = "; ".join(f"{book} {_notebook(book).title[messages.language()]}" for book in books)
    machine = sum(_seconds().get(book, 0.0) for book in books)
    return Part(at, math.ceil(minutes), what, tuple(part["do"]), machine, len(part["do"]) - len(guessed))


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
