"""The table of header names: where each leads, that each compiles alone, and that none of them is committed.
What operators' kernels see of each other.
"""

import subprocess
from pathlib import Path

import pytest

from labkit.build import compiler, headers
from labkit.build.operator_folders import side_by_side

OPERATOR_DIRS = (*headers.include_dirs("operator"), *headers.include_dirs())
ROOTS = {"kernel": headers.include_dirs(), "operator": OPERATOR_DIRS}


def alone(names, tree: str) -> str:
    """What the compiler says about a file that includes these names and nothing else."""
    text = "".join(f'#include "{name}"\n' for name in names)
    done = subprocess.run(
        [
            compiler.find_cxx(),
            "-std=c++17",
            "-fsyntax-only",
            "-x",
            "c++",
            "-",
            "-DTWIN_OP_HOST",
            *(f"-I{d}" for d in ROOTS[tree]),
        ],
        input=text,
        capture_output=True,
        text=True,
    )
    return done.stderr


def targets(tree: str) -> list[str]:
    """The headers of our own that names lead to."""
    return sorted({target for to in headers.forwards()[tree].values() for target in to if target[0] != "<"})


@pytest.mark.parametrize("tree", list(headers.TREES))
def test_every_name_leads_somewhere_and_nowhere_twice(tree):
    own = [p.relative_to(headers.TREES[tree]).as_posix() for p in headers.TREES[tree].rglob("*.h")]
    assert not set(own) & set(headers.forwards()[tree]), "a header of our own and a name of the table"
    rows = [name for row in headers.rows() if row.tree == tree for name in row.paths()]
    assert len(rows) == len(set(rows)), sorted(n for n in rows if rows.count(n) > 1)
    for target in targets(tree):
        assert any((root / target).is_file() for root in ROOTS[tree]), f"{target}: no such header"


@pytest.mark.parametrize("tree, target", [(tree, target) for tree in headers.TREES for target in targets(tree)])
def test_what_a_name_leads_to_compiles_alone(tree, target):
    assert alone([target], tree) == ""


@pytest.mark.parametrize("tree", list(headers.TREES))
def test_all_names_can_be_included_together(tree):
    assert alone(headers.forwards()[tree], tree) == ""


def test_the_names_are_written_once(monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    headers.include_dirs.cache_clear()
    try:
        own, forwards = headers.include_dirs()
        assert own == headers.TREES["kernel"] and str(tmp_path) in str(forwards)
        assert (
            forwards / "adv_api/math/acos.h"
        ).read_text() == f'#pragma once\n#include "{headers.forwards()["kernel"]["adv_api/math/acos.h"][0]}"\n'
        assert len([p for p in forwards.rglob("*") if p.is_file()]) == len(headers.forwards()["kernel"]) > 700
        stamp = (forwards / "adv_api/math/acos.h").stat().st_mtime_ns
        headers.include_dirs.cache_clear()
        assert headers.include_dirs()[1] == forwards and (forwards / "adv_api/math/acos.h").stat().st_mtime_ns == stamp
    finally:
        headers.include_dirs.cache_clear()


def test_no_header_that_only_forwards_is_committed(repo: Path):
    for path in (repo / "labkit" / "twin").rglob("*.h"):
        code = [
            line
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.strip() and not line.startswith(("#pragma once", "//"))
        ]
        assert len(code) > 1 or not code[0].startswith("#include"), f"{path}: belongs into headers.toml"


# ---- operators' folders


@pytest.fixture
def operators(tmp_path, monkeypatch):
    """Two families; `same` is in both, .old and linked are no operators, nor is what has no op_kernel."""
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "kept" / "cache"))
    for op in ("act/one", "act/two", "act/same", "act/.old", "norm/three", "norm/same", ".git/four", "kept/cache/five"):
        folder = tmp_path / op / "op_kernel"
        (folder / "deep").mkdir(parents=True)
        (folder / "mark.h").write_text(op)
        (folder / "deep" / "k.asc").write_text("")
    (tmp_path / "act" / "doc").mkdir()
    (tmp_path / "act" / "linked").symlink_to(tmp_path / "norm" / "three")
    return tmp_path


def neighbours(file) -> dict[str, str]:
    """Which operator `../name/mark.h` leads to, of each name there is."""
    (here,) = side_by_side(file)
    assert Path(here).is_dir(), "`..` leads nowhere from a folder that is not there"
    names = [p.name for p in Path(here).parent.iterdir() if p.name != "here"]
    return {name: (Path(here) / ".." / name / "mark.h").read_text() for name in names}


@pytest.mark.parametrize("place", ["mark.h", "deep/k.asc", "not written yet.asc"])
@pytest.mark.parametrize("family, same", [("act/one", "act/same"), ("norm/three", "norm/same")])
def test_a_kernel_sees_the_kernels_of_all_operators(operators, family, same, place):
    """Of two with one name its own family's; the view is made once, whatever file asks."""
    file = operators / family / "op_kernel" / place
    want = {"one": "act/one", "two": "act/two", "three": "norm/three", "same": same}
    assert neighbours(file) == want
    first = side_by_side(file)
    assert side_by_side(file) == first == side_by_side(operators / family / "op_kernel" / "deep" / "k.asc")
    assert len(list((operators / "kept" / "cache" / "op_folders").iterdir())) == 1, "a second view of the same folders"


def test_where_a_kernel_has_no_neighbours(operators):
    for file in ("act/one/mark.h", "act/one/op_kernels/k.asc", "kept/cache/five/op_kernel/k.asc"):
        assert side_by_side(operators / file) == [], f"{file} is in no op_kernel of an operator's"
    alone = operators / "only" / "lib" / "act" / "one" / "op_kernel"
    alone.mkdir(parents=True)
    assert side_by_side(alone / "k.asc") == [], "an operator alone has nobody to include"
    assert side_by_side(operators / "gone" / "a" / "b" / "op_kernel" / "k.asc") == []
    (alone.parents[1] / "two" / "op_kernel").mkdir(parents=True)
    assert len(side_by_side(alone / "k.asc")) == 1, "two operators are neighbours"
    assert side_by_side(operators / "act/one/op_kernel/k.asc") not in ([], side_by_side(alone / "k.asc")), (
        "a second view"
    )


def test_another_process_made_the_same_view_first(operators, monkeypatch):
    """Its view is used, and nothing of ours is left beside it."""
    file, rename = operators / "act/one/op_kernel/k.asc", Path.rename

    def late(made, view):
        view.mkdir()
        (view / "theirs").touch()
        return rename(made, view)

    monkeypatch.setattr(Path, "rename", late)
    (here,) = side_by_side(file)
    assert [p.name for p in (operators / "kept" / "cache" / "op_folders").iterdir()] == [Path(here).parent.name]
    assert (Path(here).parent / "theirs").exists()
