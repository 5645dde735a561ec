"""Which names the Ascend C headers of the twin offer: for "did you mean", and for names that only lack their scope."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterable
from functools import lru_cache

from labkit.paths import repo_root, twin_dir
from labkit.source.scan import Outline, closing, closing_angle, function_name, mask, split, strip_attributes

# Words of a type that make no other function of two overloads, and those that only the lab or CANN writes.
_PLAIN = re.compile(r"\b(?:const|volatile|typename|class|struct|__gm__|__ubuf__|__restrict__)\b|AscendC::|[&\s]+")
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
    return name in documented() and not re.search(rf"\b{re.escape(name)}\b", offered())


@lru_cache(maxsize=1)
def offered() -> str:
    """All that the twin's headers say, without comments."""
    return "\n".join(_headers())


# ---- names that only CANN's headers have


def signature(template: Iterable[str], parameters: Iterable[str]) -> str:
    """What two functions of one name must share so that a call cannot choose between them: the parameters' types,
    without const, with the template's parameters by number. "T1<T>,uint32_t"-like; "()" for no parameters.
    """
    template, numbered = list(template), []
    for parameter in parameters:
        for number, name in enumerate(template):
            parameter = re.sub(rf"\b{re.escape(name)}\b", f"T{number}", parameter) if name else parameter
        numbered.append(_PLAIN.sub("", parameter))
    return ("<>" if template else "") + "(" + ",".join(numbered) + ")"


@lru_cache(maxsize=1)
def cann_names() -> dict[str, tuple[str, frozenset[str]]]:
    """name -> (header that brings it: "" is kernel_operator.h, signatures of the functions of that name; none where it
    is a type, a variable or a namespace), for all of namespace AscendC. From data/cann_names.csv.
    """
    table = repo_root() / "data" / "cann_names.csv"
    if not table.is_file():
        return {}
    with table.open(encoding="utf-8", newline="") as file:
        return {
            row["name"]: (row["header"], frozenset(filter(None, row["functions"].split(" | "))))
            for row in csv.DictReader(file)
        }


_TYPE_NAME = re.compile(r"^(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+([A-Za-z_]\w*)")
_ALIAS = re.compile(r"^using\s+([A-Za-z_]\w*)\s*=")
_VARIABLE = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$")
_NO_DECLARATION = re.compile(
    r"^(?:using\s+namespace|namespace|return|static_assert|extern\s*\"|friend|template\s*<\s*>|#)"
)


def clashes(text: str, around: str = "") -> list[tuple[str, bool]]:
    """(name, declared in namespace AscendC) of what `text` declares for all of itself and CANN's headers have too.

    With `using namespace AscendC` every use of such a name is ambiguous: that says the compiler, once it knows of the
    name. Names in a namespace or class of the text's own hide the API's. around: the text of what it includes.
    """
    known, whole = cann_names(), around + "\n" + text
    if "kernel_operator.h" not in whole or not known:
        return []
    matmul, found = "matmul" in whole, []
    for name, kind, inside in _declared(text):
        header, functions = known.get(name, ("?", frozenset()))
        if header == "" or header == "matmul" and matmul:
            if not kind and not functions or kind and kind in functions or bool(kind) != bool(functions):
                found.append((name, inside))
    return list(dict.fromkeys(found))


def _declared(text: str) -> Iterable[tuple[str, str, bool]]:
    """(name, signature of a function or "", in namespace AscendC) of every declaration at namespace scope."""
    outline = Outline(text)
    masked = outline.masked

    def scope(offset: int) -> str | None:
        block = outline.around(offset)
        names = list(block.chain()) if block else []
        if any(b.kind not in ("namespace", "linkage") for b in names):
            return None
        return "::".join(b.name for b in names if b.name)

    starts = [(b.head, b.open, b.kind) for b in outline.blocks if b.kind in ("type", "function")]
    blocks = [(b.head, b.close) for b in outline.blocks if b.kind in ("type", "function")]
    for m in re.finditer(";", masked):
        begin = outline.statement_start(m.start())
        if not any(head < m.start() < close for head, close in blocks):
            starts.append((begin, m.start(), "statement"))
    for begin, end, kind in starts:
        where = scope(end)
        if where in ("", "AscendC"):
            head = re.sub(r"^[ \t]*#[^\n]*", lambda d: " " * len(d[0]), masked[begin:end], flags=re.M)
            if found := _one(strip_attributes(head), kind):
                yield (*found, where == "AscendC")


def _one(head: str, kind: str) -> tuple[str, str] | None:
    """(name, signature) of one declaration."""
    template: list[str] = []
    head = head.strip()
    while m := re.match(r"template\s*<", head):
        end = closing_angle(head, m.end() - 1)
        if end < 0:
            return None
        parts = split(head, m.end(), end)
        template += [w[-1] for a, b in parts if (w := re.findall(r"\w+", head[a:b].partition("=")[0]))]
        head = head[end + 1 :].strip()
    if m := _TYPE_NAME.match(head):
        return m[1], ""
    if _NO_DECLARATION.match(head):
        return None
    if m := _ALIAS.match(head):
        return m[1], ""
    if head.startswith("typedef"):
        return (m[1], "") if (m := _VARIABLE.search(head)) else None
    before = head.partition("=")[0].rstrip()
    if kind == "function" or kind == "statement" and re.search(r"\)\s*(?:const|noexcept)?$", before):
        name = function_name(before)
        paren = before.find("(", before.find(name))
        end = closing(before, paren) if name and paren >= 0 else -1
        if end < 0 or "operator" in name or re.search(rf"::\s*{re.escape(name)}\s*$", before[:paren]):
            return None
        types = [
            _type(before[a:b]) for a, b in split(before, paren + 1, end) if before[a:b].strip() not in ("", "void")
        ]
        return name, signature(template, types)
    if kind == "statement" and " " in before and (m := _VARIABLE.search(re.sub(r"\{.*", "", before))):
        return m[1], ""
    return None


def _type(parameter: str) -> str:
    """A parameter without its name and default."""
    text = parameter.partition("=")[0].strip()
    m = re.match(r"(.*[\w>&*\s])\b([A-Za-z_]\w*)$", text, re.S)
    return m[1] if m and re.search(r"[A-Za-z_>]", re.sub(r"\bconst\b|\bvolatile\b", "", m[1])) else text
