"""Which notebooks are run, and with what: the parameters are checked before anything starts."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from labkit import chips, messages, paths
from labkit.build.cache import key
from labkit.exercises import session
from labkit.notebook import run
from labkit.notebook.build import build_variant
from labkit.notebook.cells import Variant

TAG = "parameters"


@dataclass(frozen=True)
class Job:
    """One notebook. text: its JSON; folder: where its cells run; digest: of all that its result depends on.
    parameters: those that were given; environment: for its kernel. Everything in it can be sent to another machine.
    """

    name: str
    title: str
    minutes: int
    text: str
    folder: str
    parameters: dict[str, Any]
    environment: dict[str, str]
    lab: str
    digest: str


def _fail(entry: str, **words) -> None:
    raise ValueError(messages.text(f"batch.{entry}", **words))


def declared(nb: Mapping, name: str) -> dict[str, Any]:
    """The notebook's parameters with their defaults, out of the one cell tagged `parameters`; {} without such a cell.

    Raises ValueError: two such cells, or a line in it that is no `NAME = literal`.
    """
    cells = [c for c in nb["cells"] if TAG in c.get("metadata", {}).get("tags", ())]
    if len(cells) > 1:
        _fail("two-cells", name=name, count=len(cells))
    found: dict[str, Any] = {}
    text = "".join(cells[0]["source"]) if cells else ""
    try:
        lines = ast.parse(text).body
    except SyntaxError as error:
        _fail("bad-cell", name=name, line=(error.text or "").strip())
    for line in lines:
        target = line.targets[0] if isinstance(line, ast.Assign) and len(line.targets) == 1 else None
        target = line.target if isinstance(line, ast.AnnAssign) and line.value else target
        if not isinstance(target, ast.Name):
            _fail("bad-cell", name=name, line=ast.unparse(line))
        try:
            found[target.id] = ast.literal_eval(line.value)
        except ValueError:
            _fail("bad-cell", name=name, line=ast.unparse(line))
    return found


def checked(name: str, has: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """`given` (texts, as typed after -p) as values of the types that the notebook's defaults have.

    Raises ValueError: a name that the notebook does not have, a value of another type, a target or device that no
    session takes.
    """
    values = {}
    for parameter, text in given.items():
        if parameter not in has:
            _fail("unknown", name=name, parameter=parameter, choices=", ".join(has) or "-")
        values[parameter] = _typed(name, parameter, text, has[parameter])
    session.validate({k: v for k, v in values.items() if k in session.PARAMETERS})
    return values


def _typed(name: str, parameter: str, text: str, default: Any) -> Any:
    wanted = type(default)
    if wanted is str:
        return text
    words = {"true": "True", "false": "False"}
    try:
        value = ast.literal_eval(words.get(text, text))
    except (ValueError, SyntaxError):
        value = text
    if wanted is float and type(value) is int:
        value = float(value)
    if default is not None and type(value) is not wanted:
        _fail("bad-value", name=name, parameter=parameter, value=text, wanted=wanted.__name__, default=default)
    return value


def check_chip(chip: str) -> str:
    if chip and chip not in chips.names():
        _fail("bad-chip", chip=chip, choices=", ".join(chips.names()))
    return chip


@lru_cache(maxsize=1)
def lab_digest() -> str:
    """Of this version of the lab: every file of labkit/ and kernels/."""
    parts: list[str | bytes] = []
    for home in (paths.twin_dir().parent, paths.kernels_dir()):
        for file in sorted(p for p in home.rglob("*") if p.is_file()):
            name = file.relative_to(home)
            if "__pycache__" not in name.parts and name.parts[0] not in ("share", "shipped"):  # of a wheel
                parts += [name.as_posix(), file.read_bytes()]
    return key(*parts)


def plan(
    names: list[str], given: Mapping[str, str], *, chip: str = "", solved: bool = False, scratch: Path | None = None
) -> list[Job]:
    """A job for each notebook (numbers, ids, files; all without one). scratch: where solved ones are made.

    Raises ValueError, FileNotFoundError: nothing has run then.
    """
    language = messages.language()
    environment = {"LABKIT_LANG": language} | ({"LABKIT_CHIP": check_chip(chip)} if chip else {})
    jobs: list[Job] = []
    for src, file in run.work(names):
        lies = file or run.translated(src, paths.notebooks_dir(), language)
        if solved and src is not None and file is None:
            lies_in, lies = lies, build_variant(src, scratch, Variant("solved", lang=language))
        else:
            lies_in = lies
        name = src.id if file is None else run.name_of(file, {j.name for j in jobs})
        text = lies.read_text(encoding="utf-8")
        values = checked(name, declared(json.loads(text), name), given)
        words = json.dumps([values, environment, solved], sort_keys=True)
        jobs.append(
            Job(
                name=name,
                title=src.title[language] if src else "",
                minutes=src.minutes if src else 0,
                text=text,
                folder=str(lies_in.resolve().parent),
                parameters=values,
                environment=environment,
                lab=lab_digest(),
                digest=key(text, words, lab_digest()),
            )
        )
    return jobs
