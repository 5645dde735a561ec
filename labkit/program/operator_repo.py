"""The repository around an operator's folder: headers and sources that its build finds through
include paths of its own.

An operator of a large repository includes "op_host/tiling_base.h" or "../../foreach_utils/op_host/x.h";
which folder that starts from stands in CMake files. Here it is found: the header of the repository
whose path ends so and lies nearest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from labkit.build import includes

OTHER_CHIPS = {"arch35", "arch38", "arch10", "ascend310p", "ascend950"}  # folders of sources that are not for A2/A3
_SKIPPED = {"tests", "test", "build", "build_out", "docs", "node_modules", "site-packages"}
_MOST_FILES = 100_000
_HEADERS, _SOURCES = (".h", ".hpp", ".inc"), (".cpp", ".cc")


def root_of(folder: Path) -> Path:
    """The repository around `folder`: where .git or LICENSE lies,
    else the outermost CMakeLists.txt, else `folder` itself.
    """
    around = [p for p in [folder, *folder.parents] if p not in (Path.home(), p.parent)]
    marked = [p for p in around if (p / ".git").exists() or (p / "LICENSE").exists()]
    built = [p for p in around if (p / "CMakeLists.txt").exists()]
    return (marked or built[-1:] or [folder])[0]


def beyond(files: Iterable[Path], dirs: Sequence[str], folder: Path) -> tuple[list[str], list[Path]]:
    """What files reach in the repository around `folder` and not through dirs:
    more include folders, and the sources of those headers.
    """
    root = root_of(folder)
    _look_again(root)
    found: list[str] = []
    sources: list[Path] = []
    todo, seen = [Path(f) for f in files], set()
    while todo:
        file = todo.pop()
        if file in seen:
            continue
        seen.add(file)
        for quoted, name in includes.includes(file.read_bytes()):
            at = _reached(name, [str(file.parent)] * quoted + [*dirs, *found])
            if at is None:
                header = _nearest(root, name, folder)
                start = header and _start(header, name)
                if not start:
                    continue
                found.append(start)
                at = header
            if root in at.parents:
                todo.append(at)
                if folder not in at.parents:
                    sources += [s for s in _same_stem(root, at) if s not in sources]
    return found, sources


def registering(op: str, folder: Path) -> list[Path]:
    """Sources outside an operator's folder that register its tiling function, as families of operators share one."""
    said = re.compile(rf"\bIMPL_OP(?:_OPTILING)?\(\s*{op}\s*\)")
    found, root = [], root_of(folder)
    _look_again(root)
    for name, places in _index(root).items():
        if name.endswith(_SOURCES):
            found += [
                Path(p)
                for p in places
                if "/op_host/" in p and said.search(Path(p).read_text(encoding="utf-8", errors="replace"))
            ]
    return sorted(found)


def _reached(name: str, dirs: Sequence[str]) -> Path | None:
    for d in dirs:
        path = os.path.join(d, name)
        if os.path.isfile(path):
            return Path(os.path.normpath(path))
    return None


def _nearest(root: Path, name: str, folder: Path) -> Path | None:
    tail = "/" + re.sub(r"^(\.\.?/)+", "", os.path.normpath(name))
    fitting = [p for p in _index(root).get(os.path.basename(name), ()) if p.endswith(tail)]
    if not fitting:
        return None

    def worth(path: str) -> tuple:  # the operator's own, then what no other operator owns, then what is near
        near = len(os.path.commonpath([path, str(folder)]))
        return (
            not _other_chip(path, root),
            folder in Path(path).parents,
            not _of_operator(path, root),
            "/stub/" not in _inside(path, root),
            near,
            -len(path),
        )

    return Path(max(sorted(fitting), key=worth))


def _inside(path: str | Path, root: Path) -> str:
    """ "/folder/in/the/repository/": the repository itself may lie in a folder named src, or stub."""
    return f"/{os.path.relpath(path, root)}/"


def _other_chip(path: str | Path, root: Path) -> bool:
    return not OTHER_CHIPS.isdisjoint(_inside(path, root).split("/"))


def _of_operator(path: str, root: Path) -> bool:
    around = [p for p in Path(path).parents if root in p.parents]
    return any(
        (p / "op_kernel").is_dir() or (p / "op_host").is_dir() for p in around if p.name not in ("inc", "include")
    )


def _start(header: Path, name: str) -> str | None:
    """The include folder from which `name` leads to the header; "../x/y.h" starts inside a folder of its own."""
    parts = os.path.normpath(name).split("/")
    ups = parts.count("..")  # what is left of them stands in front
    parts = parts[ups:]
    base = header
    for _ in parts:
        base = base.parent
    return str(base.joinpath(*parts[:ups])) if ups < len(parts) else None


def _same_stem(root: Path, header: Path) -> list[Path]:
    """The source that belongs to a header: beside it, or in a src folder where the header is in an include folder."""
    fitting = [Path(p) for s in _SOURCES for p in _index(root).get(header.stem + s, ())]
    fitting = [p for p in fitting if not _other_chip(p, root)]
    beside = [p for p in fitting if p.parent == header.parent]
    lies = re.sub(r"/(?:inc|include)/", "/", _inside(header.parent, root))
    return beside or [p for p in fitting if re.sub(r"/src/", "/", _inside(p.parent, root)) == lies]


_times: dict[Path, dict[str, int]] = {}  # of the folders that _index(root) has seen, when it saw them


def _time(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _look_again(root: Path) -> None:
    """Forgets the index where a file came or went since: the header that was missing may have been added."""
    if any(_time(folder) != then for folder, then in _times.get(root, {}).items()):
        _index.cache_clear()


@lru_cache(maxsize=8)
def _index(root: Path) -> dict[str, list[str]]:
    """file name -> paths of the repository's headers and sources; hidden folders and what was installed stay out."""
    found: dict[str, list[str]] = {}
    count, times = 0, {}
    for at, folders, names in os.walk(root):
        times[at] = _time(at)
        if "pyvenv.cfg" in names:  # a virtual environment in a clone: PyTorch's headers hold a time.h
            folders.clear()
            continue
        folders[:] = [f for f in folders if f not in _SKIPPED and not f.startswith(".")]
        for name in names:
            if name.endswith(_HEADERS + _SOURCES):
                found.setdefault(name, []).append(os.path.join(at, name))
        count += len(names)
        if count > _MOST_FILES:
            break
    _times[root] = times  # whole, since another thread may be reading the one before
    return found
