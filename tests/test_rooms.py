"""The order of rooms: a folder of the twin or of labkit uses itself and the rooms before it, nothing behind it."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest
from places import REPO

import labkit

# README, "How the code is arranged", says what each is for.
TWIN = "base core lanes memory vector cube library matmul tiling clock launch host c_api".split()
LABKIT = (
    "paths chips messages source build device launch operators program figures analysis profiler trace bench codegen "
    "triton fusion tuning serving migrate exercises book notebook camp environment calibration batch cli"
).split()
LATER = (
    "profiler/",
    "trace/",
    "bench/",
    "codegen/",
    "fusion/",
    "tuning/",
    "camp/",
    "batch/",
    "messages/batch",
    "migrate/",
    "triton/",
    "serving/",
    "book/",
    "messages/codegen",
    "messages/fusion",
    "messages/tuning",
    "messages/migrate",
    "messages/triton",
    "messages/serving",
    "messages/troubleshooting",
    "messages/profiler",
    "messages/trace",
    "messages/modules",
    "messages/bench",
    "messages/book",
    "device/csrc/recorder",
    "device/modules/",  # modules of torch_npu that torch.npu itself does without: each is loaded when it is named
    "twin/include/c_api/",
    "twin/include/twin/c_api/",
)  # what stage 05 and later ones have brought
MOST_FILES, MOST_IN_A_FOLDER, MOST_LINES = (
    520,
    30,
    500,
)  # 490, what stage 15 added to exercises/, camp's three, six of checks


def includes(folder: Path, prefix: str) -> Iterator[tuple[Path, str, str]]:
    """(file, room, included file) of each include in which a room of `folder` names a file of a room."""
    for path in sorted(folder.rglob("*.*")):
        for name in re.findall(r'#\s*include "([^"]+)"', path.read_text(encoding="utf-8")):
            if name.startswith(prefix) and name.removeprefix(prefix).split("/")[0] in TWIN:
                yield path, path.relative_to(folder).parts[0], name.removeprefix(prefix)


@pytest.mark.parametrize("folder, prefix", [("src", ""), ("include/twin", "twin/")])
def test_the_twins_rooms_include_only_rooms_before_them(folder, prefix):
    root = REPO / "labkit" / "twin" / folder
    assert {p.name for p in root.iterdir()} <= set(TWIN), "a room without a place in the order"
    found = list(includes(root, prefix))
    upward = [
        f"{path.relative_to(root)} includes {name}: {name.split('/')[0]} comes after {room}"
        for path, room, name in found
        if TWIN.index(name.split("/")[0]) > TWIN.index(room)
    ]
    assert not upward, "\n".join(upward)
    roots = (root, REPO / "labkit" / "twin" / "include")  # tiling/platform/ is a folder of CANN's as well
    missing = [
        f"{path.relative_to(root)}: {name}" for path, _, name in found if not any((r / name).is_file() for r in roots)
    ]
    assert not missing and len(found) > 30, missing


# ---- Python


def modules() -> dict[str, Path]:
    found = {}
    for path in (REPO / "labkit").rglob("*.py"):
        parts = path.relative_to(REPO).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def module_of(name: str) -> str | None:
    """The module that a dotted name lies in: labkit.kernel is a name of labkit.launch.kernel."""
    first = name.split(".")[1] if "." in name else ""
    if first in labkit._PUBLIC and f"labkit.{first}" not in MODULES:
        return labkit._PUBLIC[first][0]
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name or None


def imports(module: str) -> set[str]:
    """The modules of labkit that one names in an import, wherever it stands, but for those that only types need."""
    path = MODULES[module]
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    for_types = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If)
        and "TYPE_CHECKING" in (getattr(node.test, "id", ""), getattr(node.test, "attr", ""))
        for inner in ast.walk(node)
    }
    found: set[str | None] = set()
    for node in nodes:
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "labkit":
            found |= {module_of(f"{node.module}.{alias.name}") for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {module_of(a.name) for a in node.names if a.name.startswith("labkit.")}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "labkit":
            found.add(module_of(f"labkit.{node.attr}"))
    return {name for name in found if name and name != module}


@lru_cache(maxsize=1)
def graph() -> dict[str, set[str]]:
    return {name: imports(name) for name in MODULES}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_labkits_rooms_import_only_rooms_before_them():
    rooms = {room(m) for m in MODULES} - {"", "__main__"}
    assert rooms <= set(LABKIT), rooms - set(LABKIT)
    upward = [
        f"{module} imports {name}: {room(name)} comes after {room(module)}"
        for module, names in sorted(graph().items())
        for name in sorted(names)
        if room(module) in LABKIT and room(name) in LABKIT and LABKIT.index(room(name)) > LABKIT.index(room(module))
    ]
    assert not upward, "\n".join(upward)


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Some modules of which each imports the next and the last the first; [] where there are none."""
    done: set[str] = set()

    def walk(module: str, path: list[str]) -> list[str]:
        if module in path:
            return path[path.index(module) :]
        if module in done:
            return []
        for name in sorted(graph.get(module, ())):
            if found := walk(name, [*path, module]):
                return found
        done.add(module)
        return []

    return next((found for module in sorted(graph) if (found := walk(module, []))), [])


def test_no_import_circle():
    assert circle(graph()) == []
    assert sorted(circle({"a": {"b"}, "b": {"c"}, "c": {"b"}})) == ["b", "c"], "and one would be found"


def test_no_package_has_the_name_of_a_public_function():
    functions = {name for name in labkit._PUBLIC if callable(getattr(labkit, name))}
    packages = {m.rpartition(".")[2] for m, path in MODULES.items() if path.name == "__init__.py"}
    assert {"kernel", "explain", "exercise", "doctor"} <= functions
    assert not functions & packages


def test_what_a_package_has_is_offered_before_it_is_loaded():
    """Tab in a notebook and help() go by dir(), and each of these names loads its module when it is asked for."""
    for room in sorted(
        p.parent.name for p in (REPO / "labkit").glob("*/__init__.py") if "__getattr__" in p.read_text()
    ):
        package = importlib.import_module(f"labkit.{room}")
        assert not set(package.__all__) - set(dir(package)), room


def test_no_module_can_be_called():
    changed = [name for name, path in MODULES.items() if "__class__ =" in path.read_text(encoding="utf-8")]
    assert not changed, f"a module with another class: {changed}"


# ---- sizes


def test_labkit_is_no_larger_than_it_must_be():
    files = [p for p in (REPO / "labkit").rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    # what stood before stage 05 keeps its limit; a folder of a later room has MOST_IN_A_FOLDER
    before = [p for p in files if not str(p.relative_to(REPO / "labkit")).startswith(LATER)]
    assert len(before) <= MOST_FILES, len(before)
    code = [p for p in files if p.suffix in (".py", ".h", ".cpp")]
    crowded = {str(p.relative_to(REPO)) for p in {f.parent for f in code} if sum(f.parent == p for f in code) > 30}
    assert not crowded
    long = [str(p.relative_to(REPO)) for p in code if len(p.read_text(encoding="utf-8").splitlines()) > MOST_LINES]
    assert not long
    assert {p.name for p in (REPO / "labkit").glob("*.py")} == {
        "__init__.py", "__main__.py", "chips.py", "paths.py",
    }  # fmt: skip
