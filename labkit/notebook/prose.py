"""What the text of notebooks and pages names must exist: links, numbers of notebooks, names of Ascend C, of labkit; and
a number with a unit must come from somewhere.

complaints() reads the sources and the pages that it is given and runs nothing. Each complaint is one line.
"""

from __future__ import annotations

import csv
import importlib
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from labkit import paths
from labkit.exercises.spec import Spec
from labkit.exercises.stub import template
from labkit.notebook import source as reader
from labkit.notebook.build import load_notebook
from labkit.notebook.source import Code, Markdown

_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_NUMBER = re.compile(r"(?<![\d.,_/])(0\d\.\d\d)(?![\d.,]*\d|\s*(?:us|ms|%|x\b|µs|s\b))")
_FILE = re.compile(r"`((?:kernels|labkit|data|scripts|notebooks|tests)/[\w./-]+\.\w+)`")
_FENCE = re.compile(r"(?ms)^```.*?^```")
_TICKED = re.compile(r"`([^`\n]+)`")
_WORD = re.compile(r"(?<![\w.\"'/<-])(?:AscendC::)?([A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+)(?![\w.]*\.(?:py|md|asc|h)\b)")
_AMOUNT = re.compile(
    r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?)\s?(?:%|(?:us|ms|ns|KB|MB|GB|TB|[GT]B/s|TFLOP|GHz|times|cycles|per cent)\b)"
)
_SOURCE = re.compile(r"\]\(|data/|\bpublish|\bdocument|\basc-devkit\b|\bmanual\b")
_LABKIT = re.compile(r"(?<![\w./-])labkit((?:\.[A-Za-z_]\w*)+)(?![\w/])")


def complaints(sources: list[Path], pages: list[Path]) -> Iterator[str]:
    """All of them, of these notebooks' sources (English and Chinese) and Markdown pages."""
    numbers = {p.stem.split("_")[0] for p in reader.sources()}
    for path in sources:
        src = reader.read(path)
        code = "\n".join(b.text for b in src.blocks if isinstance(b, Code))
        seen = code + _outputs(src)
        for block in src.blocks:
            if isinstance(block, Markdown):
                if src.target(paths.notebooks_dir()).is_file():  # else its cells have shown nothing yet
                    yield from numbers_from_nowhere(block.en, f"{path.name}:{block.line}", seen)
                for text in filter(None, (block.en, block.zh)):
                    at = f"{path.name}:{block.line}"
                    yield from links(text, at, src.target(paths.notebooks_dir()).parent, text)
                    yield from _of_text(text, at, numbers, code)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        bare = _FENCE.sub("", text)
        yield from links(bare, page.name, page.parent, text)
        yield from files(bare, page.name)
        yield from notebook_numbers(bare, page.name, numbers)
        yield from labkit_names(text, page.name)


def told(exercises: list[Spec], tables: dict) -> Iterator[str]:
    """The same of what learners are asked and told: questions, tasks, hints, sentences of known mistakes, reasons; and
    of all messages, by messages.tables()."""
    numbers = {p.stem.split("_")[0] for p in reader.sources()}
    for spec in exercises:
        texts, code = [spec.question, spec.why, *spec.hints, *(m.say for m in spec.mutants)], ""
        if spec.kind != "predict":
            ours = template(spec)
            texts, code = [*texts, *(r.todo for r in ours.regions)], "\n".join([*ours.lines, ours.solution()])
        for text in (t for table in texts if table for t in table.values()):
            yield from _of_text(text, spec.id, numbers, code)
    for key, table in tables.items():
        for entry in table.values() if isinstance(table, dict) else ():
            for text in entry.values() if isinstance(entry, dict) else (entry,):
                yield from _of_text(str(text), key, numbers, "")


def _of_text(text: str, at: str, numbers: set[str], code: str) -> Iterator[str]:
    yield from files(text, at)
    yield from notebook_numbers(text, at, numbers)
    yield from ascend_names(text, at, code)
    yield from labkit_names(text, at)


def links(text: str, at: str, folder: Path, whole: str) -> Iterator[str]:
    """A link of a checkout leads to a file, and its anchor to a heading there. Others are not followed."""
    for target in _LINK.findall(_TICKED.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (folder / name).resolve() if name else None
        if file is not None and not file.exists():
            yield f"{at}: the link {target} leads nowhere; there is no {name} beside it"
        elif anchor and (file is None or file.suffix == ".md"):
            found = whole if file is None else file.read_text(encoding="utf-8")
            if anchor not in {_slug(h) for h in re.findall(r"(?m)^#+\s+(.+)$", found)}:
                yield f"{at}: the link {target} leads to no heading"


def _slug(heading: str) -> str:
    """As GitHub and JupyterLab make an anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def files(text: str, at: str) -> Iterator[str]:
    for name in _FILE.findall(text):
        if not (paths.repo_root() / name).exists() and not re.search(r"\b(?:NN|NAME)\b", name):  # a pattern of names
            yield f"{at}: there is no file {name}"


def notebook_numbers(text: str, at: str, known: set[str]) -> Iterator[str]:
    for number in _NUMBER.findall(_TICKED.sub("", text)):
        if number not in known:
            yield f"{at}: there is no notebook {number}"


def _outputs(src: reader.Source) -> str:
    """What the cells of the built notebook show, and the sentences and expressions that are tied to them."""
    nb = load_notebook(src.target(paths.notebooks_dir())) or {"cells": ()}
    shown = [str(o.get("text", "")) + str(o.get("data", "")) for c in nb["cells"] for o in c.get("outputs", ())]
    return " ".join([*shown, *(c.sentence + c.expression for c in src.claims)])


def numbers_from_nowhere(text: str, at: str, seen: str) -> Iterator[str]:
    """An amount such as "11.8 MB" is shown by a cell of its notebook, stands in its code or in a sentence that `holds`
    ties to it, or its block names a source.
    """
    if _SOURCE.search(text):
        return
    for found in _AMOUNT.finditer(text):
        if found[1] not in seen and found[1].replace(",", "") not in seen:
            yield f"{at}: {found[0]} is in no output, code or `holds` of the notebook, and no source is named"


@lru_cache(maxsize=1)
def api_names() -> frozenset[str]:
    """Names of Ascend C and of CANN's host side, by the two tables and by our headers' list of those that are known."""
    found = set()
    for table in ("ascendc_api.csv", "cann_names.csv"):
        with open(paths.data_dir() / table, encoding="utf-8", newline="") as lines:
            found |= {row["name"] for row in csv.DictReader(lines)}
    return frozenset(found)


@lru_cache(maxsize=1)
def own_names() -> frozenset[str]:
    """Words of the lab's own sources and kernels, as a whole: what a lesson may name besides the API."""
    found: set[str] = set()
    for home in (paths.kernels_dir(), paths.twin_dir().parent):
        for file in home.rglob("*"):
            if file.suffix in (".asc", ".h", ".cpp", ".py", ".toml", ".csv") and "messages" not in file.parts:
                found |= set(re.findall(r"[A-Z]\w+", file.read_text(encoding="utf-8", errors="replace")))
    return frozenset(found)


def ascend_names(text: str, at: str, code: str) -> Iterator[str]:
    """`DataCopyPad` between backticks: in a table of names, in the notebook's own code, or in the lab's sources."""
    for ticked in _TICKED.findall(text):
        for name in _WORD.findall(ticked):
            if name not in api_names() and not re.search(rf"\b{name}\b", code) and name not in own_names():
                yield f"{at}: {name} is no name of Ascend C, of this notebook's code or of the lab's sources"


def labkit_names(text: str, at: str) -> Iterator[str]:
    """labkit.x.y: can be imported, or is an attribute of what can."""
    for dotted in _LABKIT.findall(text):
        if not _resolves("labkit" + dotted):
            yield f"{at}: there is no labkit{dotted}"


@lru_cache(maxsize=None)
def _resolves(name: str) -> bool:
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            if not hasattr(found, part):
                return part in getattr(found, "__annotations__", {}) and part == parts[-1]
            found = getattr(found, part)
        return True
    return False
