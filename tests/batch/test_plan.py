"""Parameters are checked against the notebook's own cell before anything runs."""

from __future__ import annotations

import json

import pytest
from batches import notebook

from labkit import chips
from labkit.batch import plan, run, schedule

HAS = {"TARGET": "auto", "DEVICE": 0, "SEED": 0, "STRICT": False, "RATE": 1.5, "NAMES": ["a"]}


def test_values_get_the_types_of_the_defaults():
    given = {"TARGET": "twin", "SEED": "7", "STRICT": "true", "RATE": "2", "NAMES": "['b']"}
    assert plan.checked("n", HAS, given) == {
        "TARGET": "twin", "SEED": 7, "STRICT": True, "RATE": 2.0, "NAMES": ["b"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "given, said",
    [
        ({"SED": "1"}, r"n has no parameter SED\. It has: TARGET, DEVICE, SEED"),
        ({"seed": "1"}, "has no parameter seed.*by case"),
        ({"SEED": "1.5"}, "SEED is '1.5'; it must be of type int"),
        ({"SEED": "True"}, "must be of type int"),
        ({"SEED": "__import__('os')"}, "must be of type int"),
        ({"STRICT": "1"}, "must be of type bool"),
        ({"RATE": "fast"}, "must be of type float"),
        ({"NAMES": "a"}, "must be of type list"),
        ({"TARGET": "gpu"}, "TARGET is 'gpu'; it must be one of auto, twin, npu"),
        ({"DEVICE": "-1"}, "DEVICE is -1"),
    ],
)
def test_what_a_notebook_does_not_take_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        plan.checked("n", HAS, given)


def test_the_cell_is_read_and_never_run():
    nb = notebook("", parameters="A = 1  # type: int\nB: str = 'x'\nC = -2.5")
    assert plan.declared(nb, "n") == {"A": 1, "B": "x", "C": -2.5}
    assert plan.declared({"cells": nb["cells"][1:]}, "n") == {}


@pytest.mark.parametrize("line", ["A = open('x')", "import os", "A, B = 1, 2", "A: int", "A = (", "A.b = 1"])
def test_a_cell_with_more_than_literals_is_refused(line):
    with pytest.raises(ValueError, match="may only hold lines NAME = literal"):
        plan.declared(notebook("", parameters=f"X = 1\n{line}"), "n")


def test_two_parameters_cells_are_refused():
    nb = notebook("")
    nb["cells"].append(dict(nb["cells"][0]))
    with pytest.raises(ValueError, match="2 cells have the tag"):
        plan.declared(nb, "n")


def test_nothing_runs_when_one_notebook_refuses(tmp_path):
    for name, text in (("a", "A = 1"), ("b", "B = 1")):
        (tmp_path / f"{name}.ipynb").write_text(json.dumps(notebook("print(1)", parameters=text)))
    names = [str(tmp_path / f"{n}.ipynb") for n in "ab"]
    with pytest.raises(ValueError, match="b has no parameter A"):
        run.run(names, {"A": "2"}, tmp_path / "out", schedule.Place())
    assert not list((tmp_path / "out").glob("*.ipynb"))


def test_the_digest_follows_all_that_a_result_depends_on(tmp_path, monkeypatch):
    file = tmp_path / "a.ipynb"

    def digest(text="print(1)", given=(), **more):
        file.write_text(json.dumps(notebook(text, parameters="A = 1")))
        return plan.plan([str(file)], dict(given), **more)[0].digest

    first = digest()
    others = [digest("print(2)"), digest(given={"A": "2"}), digest(chip="910B4")]
    monkeypatch.setenv("LABKIT_LANG", "zh")
    others.append(digest())
    monkeypatch.delenv("LABKIT_LANG")
    monkeypatch.setattr(plan, "lab_digest", lambda: "another version of the lab")
    others.append(digest())
    assert len({first, *others}) == 6
    monkeypatch.undo()
    assert digest() == first


def test_a_chip_without_a_table_is_refused():
    with pytest.raises(ValueError, match="--chip is '910Z'.*910B1, 910B2"):
        plan.plan([], {}, chip="910Z")


def test_the_workbooks_notebooks_have_a_cell_that_a_batch_takes():
    jobs = plan.plan(["01.01", "06.05"], {"SEED": "3", "TARGET": "twin"}, chip="910B4")
    assert [j.name for j in jobs][0].startswith("01.01") and all(j.parameters["SEED"] == 3 for j in jobs)
    assert all(j.environment["LABKIT_CHIP"] == "910B4" and j.title for j in jobs)


def test_a_kernel_has_the_batchs_chip(monkeypatch):
    import labkit
    from labkit.exercises import session

    monkeypatch.setenv("LABKIT_CHIP", "910B4")
    assert chips.chosen() == "910B4" and session._make(**session.PARAMETERS).chip == "910B4"
    assert labkit.kernel("kernels/add/add.asc").chip == "910B4"
    assert labkit.kernel("kernels/add/add.asc", chip="910B2").chip == "910B2"
