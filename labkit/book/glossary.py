"""The glossary: the words of the field in English and Chinese, each with one plain sentence."""

from __future__ import annotations

import difflib
import html
from dataclasses import dataclass
from functools import lru_cache

from labkit import messages, paths

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib


@dataclass(frozen=True)
class Term:
    """One word. say: the sentence in both languages; also: other spellings; notebook: the one that introduces it."""

    term: str
    zh: str
    say: dict
    notebook: str = ""
    long: str = ""
    also: tuple[str, ...] = ()
    group: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.term, *self.also, self.long, self.zh)

    def sentence(self) -> str:
        """In the language in force."""
        return self.say[messages.language()]


@lru_cache(maxsize=1)
def terms() -> tuple[Term, ...]:
    """All of them, in the order of the file. Raises KeyError where an entry lacks a language."""
    file = paths.repo_root() / "notebooks" / "source" / "glossary.toml"
    found = []
    for group in tomllib.loads(file.read_text(encoding="utf-8"))["group"]:
        for entry in group["terms"]:
            entry = dict(entry)
            entry["also"] = tuple(entry.get("also", ()))
            found.append(Term(**entry, group=group["en"] + "\n" + group["zh"]))
    return tuple(found)


@dataclass(frozen=True, repr=False)
class Glossary:
    """Some terms, as text and as a table. `missed`: the word that was asked for and is none of them."""

    found: tuple[Term, ...]
    missed: str = ""

    def __repr__(self) -> str:
        if self.missed:
            near = difflib.get_close_matches(self.missed, [t.term for t in terms()], 3, 0.5)
            return messages.text(
                "book.no-term" if not near else "book.near-term", word=self.missed, near=", ".join(near)
            )
        rows = []
        for t in self.found:
            where = f" [{t.notebook}]" if t.notebook else ""
            rows.append(f"{t.term}{f' ({t.long})' if t.long else ''} | {t.zh}: {t.sentence()}{where}")
        return "\n".join(rows)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        if self.missed:
            return {"text/plain": repr(self)}
        head = "".join(
            f"<th style='text-align:left'>{html.escape(messages.text(f'book.{name}'))}</th>"
            for name in ("term", "chinese", "meaning", "notebook")
        )
        body, group = [], ""
        for t in self.found:
            if t.group != group and len(self.found) > 1:
                group = t.group
                name = group.split("\n")[messages.language() == "zh"]
                body.append(f"<tr><th colspan='4' style='text-align:left'>{html.escape(name)}</th></tr>")
            full = f"<br><small>{html.escape(t.long)}</small>" if t.long else ""
            cells = (f"<b>{html.escape(t.term)}</b>{full}", *map(html.escape, (t.zh, t.sentence(), t.notebook)))
            body.append("<tr>" + "".join(f"<td style='text-align:left'>{c}</td>" for c in cells) + "</tr>")
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
        return {"text/plain": repr(self), "text/html": table}


def glossary(word: str = "") -> Glossary:
    """The entries for `word`: a term, its long form, another spelling, or its Chinese; all entries without one.

    Case does not matter. An unknown word gives no error but the nearest terms.
    """
    asked = word.strip().casefold()
    if not asked:
        return Glossary(terms())
    exact = tuple(t for t in terms() if asked in (n.casefold() for n in t.names if n))
    part = exact or tuple(t for t in terms() if len(asked) > 1 and any(asked in n.casefold() for n in t.names))
    return Glossary(part, "" if part else word.strip())
