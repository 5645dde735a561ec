"""A documentation line for each name of the Ascend C API: how it is written and what it does, from api.toml.

Names that have no line of their own (what else the documentation lists for Atlas A2 and the twin's headers have) are
offered without one.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from labkit import messages
from labkit.source.api import close, documented, offered

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib


@dataclass(frozen=True, repr=False)
class Name:
    """One name. use: how it is written; page: of the public reference, "" where there is none."""

    name: str
    use: str = ""
    says: tuple[str, str] = ("", "")
    page: str = ""

    @property
    def line(self) -> str:
        """What it does, in the language in force; "" where nobody has written it."""
        return self.says[messages.language() == "zh"]

    def __repr__(self) -> str:
        parts = [f"{self.use or self.name}", self.line or messages.text("book.no-line")]
        if self.page:
            parts.append(messages.text("book.page", page=self.page))
        return "\n".join(parts)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        use, *rest = repr(self).split("\n")
        body = "<br>".join(html.escape(line) for line in rest)
        return {"text/plain": repr(self), "text/html": f"<code>{html.escape(use)}</code><br>{body}"}


@lru_cache(maxsize=1)
def _words() -> frozenset[str]:
    return frozenset(re.findall(r"\w+", offered()))


@lru_cache(maxsize=1)
def names() -> dict[str, Name]:
    """Every name that is offered, in alphabetical order."""
    ours = tomllib.loads((Path(__file__).parent / "api.toml").read_text(encoding="utf-8"))
    pages = {name: page for name, (on_a2, page) in documented().items() if on_a2 and name in _words()}
    found = {}
    for name in sorted({*ours, *pages} - {"operator", "assert"}, key=str.casefold):
        use, en, zh = ours.get(name, ("", "", ""))
        found[name] = Name(name, use, (en, zh), pages.get(name, ""))
    return found


def starting(prefix: str) -> list[Name]:
    """The names that begin so; where none does, those that begin so in other letters (datac -> DataCopy)."""
    exact = [n for n in names().values() if n.name.startswith(prefix)]
    return exact or [n for n in names().values() if n.name.casefold().startswith(prefix.casefold())]


def api(name: str) -> Name:
    """What `name` does and how it is written: labkit.api("DataCopy"). Raises KeyError with the nearest name."""
    found = names().get(name.strip())
    if found is None:
        near = close(name.strip(), candidates=names())
        raise KeyError(messages.text("book.near-name" if near else "book.no-name", name=name, near=near))
    return found
