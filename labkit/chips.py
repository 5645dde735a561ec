"""The chip tables: `twin/chips/*.toml`, every number of the hardware with its source beside it."""

from __future__ import annotations

import os
import zlib
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


@lru_cache(maxsize=None)
def load(chip: str = DEFAULT) -> dict:
    """One chip's table; where it names a `base`, what it does not say is the base's.
    Raises ValueError for a chip without one.
    """
    if chip in _VARIANTS:
        return _VARIANTS[chip]
    path = twin_dir() / "chips" / f"{chip}.toml"
    if not path.exists():
        raise ValueError(f"no chip {chip!r}; there are tables for {', '.join(names())}")
    return _with_base(tomllib.loads(path.read_text(encoding="utf-8")))


def variant(name: str, table: dict) -> str:
    """A table of this process's own, on top of its `base`, to be used by `name` from now on:
    what a constant does to a time.

    table: as the TOML files, e.g. {"base": "910B1", "gm": {"hbm": 1.6e12}}. Returns the name.
    Raises ValueError (no such base).
    """
    _VARIANTS[name] = _with_base(table)
    load.cache_clear()
    return name


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
