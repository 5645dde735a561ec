"""Where the learner's variables are declared: from the debug information of the kernel, built once more with all of it.

The runner knows an address, or how deep the stack was; the reader wants the declaration's line.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

_ENTRY = re.compile(r"^ <(\w+)><(\w+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)")
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
_ATTRIBUTE = re.compile(r"^\s+<\w+>\s+DW_AT_(\w+)\s*:\s*(.*)$")


@dataclass
class _Entry:
    tag: str
    depth: int
    values: dict[str, str] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)  # of an array, each dimension's


@dataclass(frozen=True)
class Variable:
    """A variable of the kernel's source: name, linkage name (empty for locals), line, bytes, whether it is static."""

    name: str
    linkage: str
    line: int
    bytes: int
    static: bool


def _run(*words: str) -> str:
    try:
        return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


@lru_cache(maxsize=64)
def _readable(symbol: str) -> str:
    return _run("c++filt", symbol).strip()


@lru_cache(maxsize=8)
def _symbols(binary: str) -> list[tuple[int, int, str]]:
    """(begin, end, linkage name) of what a library defines."""
    found = (line.split() for line in _run("nm", "-S", "--defined-only", binary).splitlines())
    return [(int(w[0], 16), int(w[0], 16) + int(w[1], 16), w[3]) for w in found if len(w) == 4]


@lru_cache(maxsize=8)
def variables(library: str, source: str) -> tuple[Variable, ...]:
    """Those that `source`, the learner's text, declares. library: built from it with -g. None without readelf."""
    entries: dict[int, _Entry] = {}
    last = array = None
    for line in _run("readelf", "--debug-dump=info", "--wide", library).splitlines():
        if found := _ENTRY.match(line):
            last = entries[int(found[2], 16)] = _Entry(found[3], int(found[1]))
            array = last if last.tag == "array_type" else array
        elif last is not None and (found := _ATTRIBUTE.match(line)):
            value = re.sub(r"^\(\w+\) ", "", found[2].strip())  # newer ones begin with the form
            last.values[found[1]] = value.rsplit("): ", 1)[-1]
            if last.tag == "subrange_type" and array is not None and found[1] in ("upper_bound", "count"):
                if _NUMBER.fullmatch(value):
                    array.lengths.append(int(value, 0) + (found[1] == "upper_bound"))
    lines = source.splitlines()

    def target(e: _Entry, key: str) -> _Entry | None:
        at = re.match(r"<0x([0-9a-f]+)", e.values.get(key, ""))
        return entries.get(int(at[1], 16)) if at else None

    def value_of(e: _Entry | None, key: str) -> str:
        for _ in range(4):
            if e is None or key in e.values:
                break
            e = target(e, "abstract_origin") or target(e, "specification")
        return e.values.get(key, "") if e else ""

    def size(e: _Entry | None, deep: int = 0) -> int:
        if e is None or deep > 20:
            return 0
        if _NUMBER.fullmatch(e.values.get("byte_size", "")):
            return int(e.values["byte_size"], 0)
        whole = size(target(e, "type"), deep + 1)
        for n in e.lengths if e.tag == "array_type" else ():
            whole *= n
        return whole

    def type_of(e: _Entry) -> _Entry | None:
        for _ in range(4):
            if "type" in e.values:
                return target(e, "type")
            e = target(e, "abstract_origin") or target(e, "specification") or e
        return None

    result = []
    for e in entries.values():
        name, line = value_of(e, "name"), value_of(e, "decl_line")
        if e.tag != "variable" or not line.isdigit() or not 1 <= int(line) <= len(lines):
            continue
        if re.search(rf"\b{re.escape(name)}\b", lines[int(line) - 1]):  # else of a header
            static = "addr" in e.values.get("location", "")
            result.append(Variable(name, value_of(e, "linkage_name"), int(line), size(type_of(e)), static))
    return tuple(result)


def largest_local(libraries: list[Path], source: str) -> Variable | None:
    """The local variable that takes most of the stack."""
    local = [v for library in libraries for v in variables(str(library), source) if not v.static]
    return max(local, key=lambda v: v.bytes, default=None)


def changed(binary: str, offset: int, libraries: list[Path], source: str) -> Variable | None:
    """The static variable of the source at this place of the library `binary`; None for constants that are computed
    once, and for what is not the learner's."""
    symbol = next((name for begin, end, name in reversed(_symbols(binary)) if begin <= offset < end), "")
    if not symbol or symbol.startswith("_ZGV"):
        return None
    name = re.split(r"::", re.sub(r"\[abi:\w+\]", "", _readable(symbol)))[-1]
    known = [v for library in libraries for v in variables(str(library), source) if v.static]
    known = [v for v in known if v.linkage == symbol or v.name == name]
    known.sort(key=lambda v: v.linkage != symbol)
    if not known or re.search(r"\bconst(expr)?\b", source.splitlines()[known[0].line - 1]):
        return None
    return known[0]
