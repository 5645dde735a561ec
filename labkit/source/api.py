"""Which names the Ascend C headers of the twin offer: for "did you mean", and for names that only lack their scope."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterable
from functools import lru_cache

from labkit.paths import repo_root, twin_dir
from labkit.source.scan import mask

_PRIVATE = re.compile(r"TWIN_|Twin|_H$|__LABKIT")


@lru_cache(maxsize=1)
def _headers() -> tuple[str, ...]:
    include = twin_dir() / "include"
    return tuple(
        mask(p.read_text(encoding="utf-8", errors="replace"), directives=False)
        for p in sorted(include.rglob("*.h"))
        if p != include / "twin" / "base" / "abi.h"
    )


@lru_cache(maxsize=1)
def names() -> frozenset[str]:
    """Every public-looking name: capitalised identifiers, constants, pipe_barrier-style functions, `__words__`."""
    found: set[str] = set()
    for text in _headers():
        found.update(re.findall(r"\b[A-Z][A-Za-z0-9_]{2,}\b|\b__[a-z]+__\b", text))
        found.update(re.findall(r"#[ \t]*define[ \t]+([a-z]\w+)", text))
        found.update(re.findall(r"\b(?:inline|struct|class|using)\s+(?:[\w:]+\s+)?([a-z]\w{3,})\b(?=\s*[({=])", text))
    return frozenset(n for n in found if not _PRIVATE.search(n))


@lru_cache(maxsize=1)
def enums() -> dict[str, str]:
    """Enumerator -> its enum class: VECIN -> "TPosition". The first definition counts."""
    found: dict[str, str] = {}
    for text in _headers():
        for m in re.finditer(r"\benum\s+class\s+(\w+)[^{;]*\{([^}]*)\}", text):
            for name in re.findall(r"([A-Z]\w*)\s*(?:=[^,]*)?(?:,|$)", m[2].strip()):
                if name not in documented():  # the twin's own lists name instructions
                    found.setdefault(name, m[1])
    return found


def enum_of(name: str) -> str:
    """The enum class an enumerator belongs to, "" for none. The events of HardEvent are made by a macro."""
    if re.fullmatch(r"(?:MTE[123]|V|M|S|FIX)_(?:MTE[123]|V|M|S|FIX)", name):
        return "HardEvent"
    return enums().get(name, "")


def close(name: str, more: Iterable[str] = (), candidates: Iterable[str] | None = None) -> str:
    """The name a typing error away from `name`, among the API's and `more`; "" when nothing is near.

    Case alone counts as very near. Short names must be nearer: `n` resembles too much.
    """
    pool = {c for c in (candidates if candidates is not None else names()) if c != name} | {
        m for m in more if m != name
    }
    same = [c for c in pool if c.lower().replace("_", "") == name.lower().replace("_", "")]
    if same:
        return min(same, key=lambda c: (sum(a != b for a, b in zip(c, name)), c))  # EnQue before ENQUE
    found = difflib.get_close_matches(name, sorted(pool), n=1, cutoff=0.8 if len(name) > 4 else 0.85)
    return found[0] if found else ""


@lru_cache(maxsize=1)
def documented() -> dict[str, tuple[bool, str]]:
    """Every name of the public Ascend C reference: (whether Atlas A2 has it, its page), from data/ascendc_api.csv."""
    table = repo_root() / "data" / "ascendc_api.csv"
    if not table.is_file():
        return {}
    with table.open(encoding="utf-8", newline="") as file:
        return {row["name"]: (row["on_a2"] == "yes", row["page"]) for row in csv.DictReader(file)}


def absent(name: str) -> bool:
    """Whether `name` is Ascend C's and the twin has no such thing."""
    return name in documented() and not re.search(rf"\b{re.escape(name)}\b", "\n".join(_headers()))
