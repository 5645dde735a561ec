"""The chip tables: `twin/chips/*.toml`, every number of the hardware with its source beside it."""

from __future__ import annotations

import difflib
import os
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache

from labkit.paths import cache_dir, twin_dir

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

DEFAULT = "910B1"


def names() -> list[str]:
    """The chips that have a table."""
    return sorted(p.stem for p in (twin_dir() / "chips").glob("*.toml"))


def chosen() -> str:
    """The chip that kernels and the simulated device have where nothing else is said: LABKIT_CHIP, else 910B1."""
    return os.environ.get("LABKIT_CHIP", "").strip() or DEFAULT


_VARIANTS: dict[str, dict] = {}
at_change: list[Callable[[str], None]] = []  # called with the name of a chip whose table is another from now on


@lru_cache(maxsize=None)
def load(chip: str = DEFAULT) -> dict:
    """One chip's table; where it names a `base`, what it does not say is the base's.
    Raises ValueError for a chip without one, and for a table with a name that the default chip's does not have.
    """
    if chip in _VARIANTS:
        return _VARIANTS[chip]
    path = twin_dir() / "chips" / f"{chip}.toml"
    if not path.exists():
        raise ValueError(f"no chip {chip!r}; there are tables for {', '.join(names())}")
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    if chip != DEFAULT:
        _looked_through(table, str(path))
    return _with_base(table)


def variant(name: str, table: dict) -> str:
    """A table of this process's own, on top of its `base`, to be used by `name` from now on:
    what a constant does to a time.

    table: as the TOML files, e.g. {"base": "910B1", "gm": {"hbm": 1.6e12}}. Returns the name.
    Raises ValueError (no such base).
    """
    made = _with_base(table)
    changed = (name in _VARIANTS or name in names()) and load(name) != made
    _VARIANTS[name] = made
    load.cache_clear()
    if changed:
        for told in at_change:
            told(name)
    return name


def _looked_through(table: dict, file: str) -> None:
    """A misspelt name would leave the base's number in force without a word. Instructions that the base has no cost for
    may have one here.
    """
    if "base" not in table:
        raise ValueError(f'{file}: needs base = "{DEFAULT}", whose numbers hold where it gives none')
    known, named = (set(_names(t)) for t in (load(DEFAULT), table))
    for name in sorted(named - known - {"base"}):
        if not name.startswith("vector.cycles."):
            near = difflib.get_close_matches(name, known, 1)
            raise ValueError(f"{file}: no table has {name!r}" + (f"; {near[0]!r}?" if near else ""))


def _names(table: dict, before: str = "") -> Iterator[str]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _names(value, f"{before}{name}.")
        else:
            yield before + name


def _with_base(table: dict) -> dict:
    return _merged(load(table["base"]), table) if "base" in table else table


def _merged(under: dict, over: dict) -> dict:
    return under | {
        k: _merged(under[k], v) if isinstance(v, dict) and isinstance(under.get(k), dict) else v
        for k, v in over.items()
    }


def flat(chip: str = DEFAULT) -> dict[str, float]:
    """The table's numbers by dotted name, e.g. {"clock.hz": 1.85e9, "vector.cycles.Exp.f16": 4.0}."""
    numbers: dict[str, float] = {}

    def walk(prefix: str, node: dict) -> None:
        for key, value in node.items():
            name = f"{prefix}.{key}" if prefix else key
            if isinstance(value, dict):
                walk(name, value)
            elif isinstance(value, (int, float)):
                numbers[name] = float(value)

    walk("", load(chip))
    return numbers


def flat_file(chip: str = DEFAULT) -> str:
    """Path of a key=value file of `flat(chip)`, which the twin reads."""
    text = "".join(f"{key}={value!r}\n" for key, value in sorted(flat(chip).items()))
    # checkouts with other tables share the folder
    path = cache_dir() / f"chip-{chip}-{zlib.crc32(text.encode()):08x}.txt"
    if not path.exists() or path.read_text() != text:
        partial = path.with_suffix(f".{id(text):x}")
        partial.write_text(text)
        partial.replace(path)
    return str(path)
