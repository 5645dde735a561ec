"""Exercises in Triton: what goes wrong is named on the learner's own line of the cell."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
pytest.importorskip("torch")
pytest.importorskip("triton", reason="Triton has wheels for Linux x86_64 and aarch64 only")

from labkit.exercises import judge, slips
from labkit.exercises.spec import load
from labkit.exercises.stub import template

RIGHT = template(load("tri_first")).solution()


def told(cell: str, name: str = "tri_first"):
    return judge.examine(load(name), cell, 2)


def test_a_right_answer_in_another_manner():
    made = told(
        "first = tl.program_id(0) * BLOCK\nlane = first + tl.arange(0, BLOCK)\nv = tl.load(x + lane, lane < n)\n"
        "w = tl.load(r + lane, lane < n)\ntl.store(y + lane, tl.where(v * 0.75 + w > 0, v * 0.75 + w, 0.0), lane < n)"
    )
    assert made.passed and made.time_kind == "modelled" and made.time_us > 0, str(made)


def test_a_finding_on_its_line():
    made = told(RIGHT.replace("tl.load(x + at, mask=inside)", "tl.load(x + at)"))
    assert (made.diagnosis, made.where) == ("gm-bounds", "exercise tri_first:4"), str(made)


@pytest.mark.parametrize(
    "change, key, word",
    [
        (("tl.maximum", "tl.greatest"), "triton-compile", "greatest"),
        (("< n", "< undefined"), "triton-compile", "undefined"),
        (("mask=inside) + ", "mask=inside) + tl.arange(0, 64) + "), "triton-compile", "64"),
    ],
)
def test_what_the_front_end_does_not_take(change, key, word):
    made = told(RIGHT.replace(*change))
    line = next(i for i, text in enumerate(RIGHT.split("\n"), 2) if change[0] in text)
    assert (made.diagnosis, made.where) == (key, f"exercise tri_first:{line}") and word in str(made), str(made)


def test_what_the_back_end_refuses():
    made = told('CONFIGS = [triton.Config({"BM": 512, "BN": 512, "BK": 64})]', "tri_tune")
    assert made.diagnosis == "triton-refused" and "L0C" in str(made), str(made)


def test_an_access_element_by_element_is_no_pass():
    cell = template(load("tri_where")).mutant(
        next(m for m in load("tri_where").mutants if m.name == "in the mask").regions
    )
    made = told(cell, "tri_where")
    assert (made.diagnosis, made.where) == ("element-by-element", "exercise tri_where:3"), str(made)
    assert "no rectangle" in made.numbers["how"]


def test_without_triton_it_is_skipped_with_the_reason(monkeypatch):
    monkeypatch.setattr(judge.importlib.util, "find_spec", lambda name: None)
    made = told(RIGHT)
    assert made.state == "SKIP" and "pip install" in str(made)


CORES = template(load("tri_cores")).solution()
LOADS = "weight, bias = tl.load(w + at, mask=inside), tl.load(b + at, mask=inside)\n"


@pytest.mark.parametrize(
    "cell, said",
    [
        (CORES, ""),
        (CORES.replace(LOADS, "").replace("    v = ", f"    {LOADS}    v = "), "`tl.load(w + at, mask=inside)`"),
        ("for row in range(4):\n    here = row * 8\n    v = tl.load(x + here)", ""),
        ("for row in range(4):\n    for at in range(2):\n        v = tl.load(x + row)", "`tl.load(x + row)`"),
    ],
)
def test_a_load_that_is_the_same_in_each_turn(cell, said):
    found = slips.same_load(template(load("tri_cores")), cell)
    assert said in found and bool(said) == bool(found)


def test_an_answer_that_loads_again_is_told_which_load():
    made = told(CORES.replace(LOADS, "").replace("    v = ", f"    {LOADS}    v = "), "tri_cores")
    assert made.diagnosis in ("too-much-loaded", "too-slow"), str(made)  # it takes about as long as is allowed
    assert "load it once, before the loop" in made.lines[0], str(made)


def test_a_mistake_in_one_of_two_places():
    right = template(load("tri_pieces")).solution()
    made = told(right.replace("[:, None] / width\n", "[:, None] / BLOCK\n"), "tri_pieces")
    assert "divide by width" in made.lines[0], str(made)


def test_the_one_difference_that_is_wrong():
    made = told(RIGHT.replace("0.75", "0.5"))
    assert "`0.5`" in made.lines[0] and "`0.75`" in made.lines[0], str(made)
