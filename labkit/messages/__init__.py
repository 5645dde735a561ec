"""Every sentence that a learner reads, in one set of tables: English and Chinese side by side.

A table is a TOML file in this folder; its keys are the entries of all tables together. An entry is either
`en`/`zh` strings, or `en`/`zh` tables with the parts `what`, `why` and `try` of a teaching message. Placeholders
are those of `str.format`. A missing number shows as `?`: showing a message must never fail.
"""

from __future__ import annotations

import os
import string
import sys
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

LANGUAGES = ("en", "zh")
PARTS = ("what", "why", "try")


def language() -> str:
    """The language in force: LABKIT_LANG, `en` where it is unset or unknown."""
    lang = os.environ.get("LABKIT_LANG", "en").lower()[:2]
    return lang if lang in LANGUAGES else "en"


@lru_cache(maxsize=None)
def _table(stem: str) -> dict[str, dict]:
    """The entries of one file; none where there is no such file."""
    file = Path(__file__).parent / f"{stem}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


@lru_cache(maxsize=None)
def tables() -> dict[str, dict]:
    """All entries. Raises ValueError when two tables define the same key."""
    entries: dict[str, dict] = {}
    for file in sorted(Path(__file__).parent.glob("*.toml")):
        for key, entry in _table(file.stem).items():
            if key in entries:
                raise ValueError(f"message {key!r} stands twice, the second time in {file.name}")
            entries[key] = entry
    return entries


class _Lenient(string.Formatter):
    """`str.format` that shows `?` for a number that is missing. `{n} file{n:?s}` is "1 file" and "2 files", and
    `{n} cop{n:?y/ies}` is "1 copy" and "2 copies".
    """

    def get_value(self, key, args, kwargs):
        return kwargs.get(key, "?") if isinstance(key, str) else super().get_value(key, args, kwargs)

    def format_field(self, value, spec):
        if spec.startswith("?"):
            one, _, many = spec[1:].rpartition("/")
            return one if str(value) == "1" else many
        try:
            return super().format_field(value, spec)
        except (TypeError, ValueError):
            return str(value)


_format = _Lenient().format


def _entry(key: str, lang: str | None):
    # most keys begin with their file's name: reading all files takes longer than most of the lab's own imports
    entry = _table(key.partition(".")[0]).get(key) or tables().get(key)
    if entry is None:
        raise KeyError(f"no message {key!r}; the tables are labkit/messages/*.toml")
    return entry.get(lang or language()) or entry["en"]


def text(key: str, /, *, lang: str | None = None, **numbers) -> str:
    """The sentence `key`. Raises KeyError for a key that no table has."""
    entry = _entry(key, lang)
    if isinstance(entry, dict):
        return "\n".join(_format(entry[part], **numbers) for part in PARTS if part in entry)
    return _format(entry, **numbers)


def lines(key: str, /, *, lang: str | None = None, **numbers) -> list[str]:
    """[what, why, try] of a teaching message."""
    entry = _entry(key, lang)
    return [_format(entry[part], **numbers) for part in PARTS]


def say(key: str, /, **numbers) -> tuple[str | None, str | None]:
    """(what, try) of an entry, None for a part that it lacks; an entry that is one string is a "try" alone."""
    entry = _entry(key, None)
    if isinstance(entry, str):
        return None, _format(entry, **numbers)
    return tuple(_format(entry[part], **numbers) if part in entry else None for part in ("what", "try"))


def after(key: str, rest: str) -> str:
    """The label `key` and what follows it; a full-width colon needs no space."""
    label = text(key)
    return f"{label}{rest}" if label.endswith("：") else f"{label} {rest}"


def has(key: str) -> bool:
    return key in tables()


def note(text: str) -> None:
    """Says what takes a while, on standard error; in a notebook, which shows that on the red of a mistake, on standard
    output."""
    in_notebook = "ipykernel" in type(sys.stderr).__module__
    print(text, file=sys.stdout if in_notebook else sys.stderr, flush=True)


def unreadable(error: OSError) -> str:
    """The sentence of a file that a person named and that cannot be read: `[Errno 2]` is none."""
    name = type(error).__name__
    return text(f"build.{name}", path=error.filename) if has(f"build.{name}") and error.filename else str(error)


# ---- tables of text, in a terminal, where a Chinese character is two cells wide


def cells(text: str) -> int:
    """How wide `text` is."""
    return sum(2 if unicodedata.east_asian_width(ch) in "WF" else 1 for ch in text)


def aligned(rows: Sequence[Sequence[str]], numbers: bool = False) -> list[str]:
    """A line for each row, two blanks between columns. numbers: all columns but the first stand right."""
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        blanks = [" " * (width - cells(cell)) for cell, width in zip(row, widths)]
        padded = [b + c if numbers and i else c + b for i, (c, b) in enumerate(zip(row, blanks))]
        lines.append("  ".join(padded).rstrip())
    return lines
