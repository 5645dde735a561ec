"""The notebooks as a book sees them: number, title, minutes, exercises, and what is needed before.

What a notebook needs is what its first paragraph says: the numbers in the sentence that begins "You need" ("stage 01"
is its first notebook). So the map and the prose cannot differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from labkit import messages, paths

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

APPENDIX = 90  # notebooks from NN.90 on stand beside the way: the map, projects, predictions
_FIELD = re.compile(r"^(\w+): *(.*)$", re.M)
_ASKED = re.compile(r"^<!-- exercise: (\w+)", re.M)
_NEED = re.compile(r"\bYou need\b(.*?)\.(?=\s|$)", re.S)
_NAMED = re.compile(r"\b(\d\d\.\d\d)\b|\bstage (\d\d)\b")


@dataclass(frozen=True)
class Chapter:
    """One notebook. number: "01.02"; stage: "01"; needs: numbers of notebooks, in the order of the sentence."""

    number: str
    id: str
    folder: str
    title: dict
    minutes: int
    needs: tuple[str, ...]
    exercises: tuple[str, ...]

    @property
    def stage(self) -> str:
        return self.number[:2]

    @property
    def beside(self) -> bool:
        """Whether it is no step of the way: the map, projects, predictions."""
        return int(self.number[3:]) >= APPENDIX

    @property
    def name(self) -> str:
        return self.title[messages.language()]


@dataclass(frozen=True)
class Stage:
    """A stage: what one can do after it; `easy`: then go on with notebook `to`."""

    number: str
    title: dict
    able: dict
    easy: dict
    to: str


def needs(text: str) -> tuple[str, ...]:
    """The notebooks that the sentences "You need ..." of a text name."""
    found = [a or f"{b}.01" for sentence in _NEED.findall(text) for a, b in _NAMED.findall(sentence)]
    return tuple(dict.fromkeys(found))


def read(file: Path) -> Chapter:
    """The chapter of one source. Raises KeyError where the front matter lacks a field."""
    _, head, body = file.read_text(encoding="utf-8").split("---\n", 2)
    field = dict(_FIELD.findall(head))
    opening = re.split(r"^(?:<!-- zh|```|## )", body, maxsplit=1, flags=re.M)[0]
    return Chapter(
        file.name[:5],
        file.stem,
        field["stage"],
        {"en": field["title"].strip('"'), "zh": field["title_zh"].strip('"')},
        int(field["minutes"]),
        needs(opening),
        tuple(_ASKED.findall(body)),
    )


@lru_cache(maxsize=1)
def chapters() -> tuple[Chapter, ...]:
    """All notebooks in order."""
    return tuple(read(file) for file in sorted((paths.repo_root() / "notebooks" / "source").glob("*.md")))


@lru_cache(maxsize=1)
def stages() -> tuple[Stage, ...]:
    """All stages in order, from notebooks/source/stages.toml."""
    file = paths.repo_root() / "notebooks" / "source" / "stages.toml"
    return tuple(Stage(**entry) for entry in tomllib.loads(file.read_text(encoding="utf-8"))["stage"])


def circle(graph: dict[str, tuple[str, ...]]) -> list[str]:
    """Notebooks of which each needs the next and the last the first; [] where there are none."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return path[path.index(name) :]
        if name not in done:
            for other in graph.get(name, ()):
                if found := walk(other, [*path, name]):
                    return found
            done.add(name)
        return []

    return next((found for name in graph if (found := walk(name, []))), [])


def reduced(graph: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The graph without a need that another need has already: what is worth drawing. The graph has no circle."""

    def behind(name: str) -> set[str]:
        found: set[str] = set()
        for other in graph.get(name, ()):
            found |= {other} | behind(other)
        return found

    return {
        name: tuple(n for n in wanted if not any(n in behind(other) for other in wanted if other != n))
        for name, wanted in graph.items()
    }


def way_to(number: str) -> list[str]:
    """All notebooks that one stands on, in order, and itself at the end. Raises KeyError for an unknown number."""
    graph = {c.number: c.needs for c in chapters()}
    found, todo = {number}, [number]
    while todo:
        todo += [n for n in graph[todo.pop()] if n not in found and not found.add(n)]
    return sorted(found)


def opening_lines(chapter_id: str, lang: str) -> list[str]:
    """What stands under the title of a stage's first notebook: what it is for, and where to go if it is easy."""
    for stage in stages():
        first = next((c for c in chapters() if c.stage == stage.number), None)
        if first and first.id == chapter_id:
            goal = messages.text("book.able", lang=lang, stage=stage.number, able=stage.able[lang])
            to = next(c for c in chapters() if c.number == stage.to)
            return [
                goal,
                messages.text("book.skip", lang=lang, easy=stage.easy[lang], to=f"{to.number} {to.title[lang]}"),
            ]
    return []
