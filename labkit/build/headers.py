"""The include folders of the twin: its own headers, and the many names of CANN that only lead to one of them.

Those names stand in twin/headers.toml. The files behind them are written once a machine into the cache (below 0.1 s).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

from labkit.build.cache import keep, key
from labkit.messages import tomllib
from labkit.paths import twin_dir

TREES = {"kernel": twin_dir() / "include", "operator": twin_dir() / "op" / "include"}


def table() -> Path:
    """Where the names stand."""
    return twin_dir() / "headers.toml"


@dataclass(frozen=True)
class Row:
    """One entry of the table: in each folder, each form of each name leads to the targets."""

    tree: str
    targets: tuple[str, ...]
    folders: tuple[str, ...]
    forms: tuple[str, ...]
    names: tuple[str, ...]

    def paths(self) -> list[str]:
        """The header names below the include root."""
        combined = product(self.folders, self.forms, self.names)
        return [(Path(folder) / form.replace("*", name)).as_posix() for folder, form, name in combined]


@lru_cache(maxsize=1)
def rows() -> tuple[Row, ...]:
    """The table, as it is written."""

    def row(entry: dict) -> Row:
        to = (entry["to"],) if isinstance(entry["to"], str) else tuple(entry["to"])
        words = (tuple(entry[field].split()) for field in ("folders", "files", "names"))
        return Row(entry.get("tree", "kernel"), to, *words)

    return tuple(map(row, tomllib.loads(table().read_text(encoding="utf-8"))["header"]))


@lru_cache(maxsize=1)
def forwards() -> dict[str, dict[str, tuple[str, ...]]]:
    """tree -> path below the include root -> what that header includes. The trees are those of TREES."""
    return {tree: {path: row.targets for row in rows() if row.tree == tree for path in row.paths()} for tree in TREES}


def _text(targets: tuple[str, ...]) -> str:
    includes = (f"#include {t}" if t.startswith("<") else f'#include "{t}"' for t in targets)
    return "\n".join(["#pragma once", *includes, ""])


@lru_cache(maxsize=2)
def include_dirs(tree: str = "kernel") -> tuple[Path, ...]:
    """What a compilation gets with `-I`: the headers of a tree of TREES, then the names that lead to them."""

    def write(work: Path) -> None:
        for name, targets in forwards()[tree].items():
            path = work / "include" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_text(targets), encoding="utf-8")

    digest = key(Path(__file__).read_bytes(), table().read_bytes())
    return TREES[tree], keep(f"headers-{tree}", digest, "include", write)


@lru_cache(maxsize=1)
def tiling_structs() -> str:
    """C++ of the library's tiling structs (TCubeTiling, ...), which the headers hold as lists of fields."""
    text = (TREES["kernel"] / "twin" / "base" / "tiling_structs.h").read_text(encoding="utf-8").replace("\\\n", " ")
    made = []
    for line in text.splitlines():
        if m := re.match(r"#define TWIN_FIELDS_(\w+)\(F\)(.*)", line):
            fields = re.findall(r"F\(([\w:]+), (\w+)\)", m[2])
            made.append(f"struct {m[1]} {{ " + " ".join(f"{ctype} {name};" for ctype, name in fields) + " };")
    return "\n".join(made)


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """What a kernel or a host program can `#include` from the twin, as written between the quotes."""
    root = TREES["kernel"]
    own = (path.relative_to(root) for path in root.rglob("*.h"))
    return tuple(sorted({*(p.as_posix() for p in own if p.parts[0] != "twin"), *forwards()["kernel"]}))
