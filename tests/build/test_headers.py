"""The table of header names: where each leads, that each compiles alone, and that none of them is committed."""

import subprocess
from pathlib import Path

import pytest

from labkit.build import compiler, headers

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
