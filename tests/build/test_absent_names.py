"""What the twin does not have is reported in one line: the name, where it is documented, what covers it."""

import pytest

from labkit import messages
from labkit.build.diagnostics import compile_error
from labkit.source import api

NAME = "Histograms"  # not on Atlas A2: it stays absent


def told(stderr, text="x\n" * 30):
    return compile_error(stderr, filename="k.asc", text=text).problems


def test_one_line_a_name_whatever_else_the_compiler_says():
    problems = told(
        f"k.asc:7:5: error: '{NAME}' was not declared in this scope\nk.asc:9:5: error: 'y' was not declared in this scope\n"
        f"k.asc:12:5: error: '{NAME}' was not declared in this scope\nk.asc:13:9: error: 'AscendC::{NAME}' has not been declared\n"
    )
    assert [(p["line"], NAME in p["message"]) for p in problems] == [(7, True)]
    assert api.documented()[NAME][1] in problems[0]["message"]
    assert "Atlas A2" in problems[0]["hint"]


@pytest.mark.parametrize(
    "said",
    [
        "'{}' is not a member of 'AscendC'",
        "use of undeclared identifier '{}'",
        "there are no arguments to '{}' that depend on a template parameter",
        "no member named '{}' in namespace 'AscendC'",
    ],
)
def test_however_it_is_said(said):
    assert NAME in told(f"k.asc:7:5: error: {said.format(NAME)}\n")[0]["message"]


def test_what_the_twin_has_is_not_absent():
    assert not api.absent("Add") and not api.absent("NoSuchThing") and api.absent(NAME)


def test_what_covers_it():
    problem = told("k.asc:7:5: error: 'IsNan' was not declared in this scope\n")[0]
    assert "IsNan is Ascend C, but not on Atlas A2" in problem["message"] and "CMPMODE::NE" in problem["hint"]
    for name in (key.removeprefix("instead.") for key in messages.tables() if key.startswith("instead.")):
        assert name in ("other", "not_on_a2") or api.absent(name), f"{name}: no error leads to this message"
    assert "Ascend 950" in told("k.asc:7:5: error: 'Reg' has not been declared\n")[0]["message"]


def test_the_table_is_whole():
    table = api.documented()
    assert len(table) > 900 and table["Add"] == (True, "基础API/Memory矢量计算/基础算术/Add.md")
    assert sum(on_a2 for on_a2, _ in table.values()) > 550
