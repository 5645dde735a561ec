"""What a failed check says of its cases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labkit.exercises import Case, judge, session
from labkit.exercises.diagnose import Diagnosis
from labkit.exercises.failure import Failure, which_cases
from labkit.exercises.spec import load


@pytest.fixture(autouse=True)
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "progress.jsonl"))
    monkeypatch.setattr(session, "_current", None)


def made(wrong: str, names: str, fatal: bool = False) -> str:
    cases = [Case(name, (), None) for name in names.split()]
    failed = [Failure(c, Diagnosis("value", {}), fatal=fatal) for k, c in enumerate(cases) if str(k) in wrong]
    return which_cases(failed, cases)


@pytest.mark.parametrize(
    "wrong, names, said",
    [
        ("1", "even odd", "Right in 1 of 2 cases. Wrong in: odd."),
        ("13", "a b c d", "Right in 2 of 4 cases. Wrong in: b; d."),
        ("0234", "a b c d e", "Right in 1 of 5 cases. Wrong in: a; c; d; and 1 more."),
        ("01", "a a b", "Right in 1 of 3 cases. Wrong in: a."),
        ("0", "a a b", ""),  # another case of that name is right
        ("01", "a b", ""),
    ],
)
def test_the_cases_that_are_wrong(wrong, names, said):
    assert made(wrong, names) == said


def test_a_check_that_ended_early_knows_nothing_of_the_others():
    assert made("0", "a b", fatal=True) == ""


@pytest.mark.parametrize(
    "sizes, wrong, blocks, said",
    [
        (
            (16, 49, 33, 784),
            "12",
            1,
            "Right in the 2 cases in which `area` is a multiple of 16, wrong in the 2 in which it is",
        ),
        ((8, 49, 33, 40), "12", 1, "is a multiple of 8,"),
        ((16, 49, 33, 48), "1", 1, "Right in 3 of 4 cases. Wrong in: 1."),  # one wrong case has much of its own
        ((16, 49, 33, 784), "02", 1, "Right in 2 of 4 cases. Wrong in: 0; 2."),
        (
            (3, 5, 9, 13),
            "01",
            8,
            "Right in the 2 cases in which `area` is at least the number of blocks, wrong in the 2",
        ),
    ],
)
def test_a_size_that_tells_wrong_from_right(sizes, wrong, blocks, said):
    cases = [Case(str(k), ("x", n), None, blocks=blocks) for k, n in enumerate(sizes)]
    failed = [Failure(c, Diagnosis("value", {})) for c in cases if c.name in wrong]
    assert which_cases(failed, cases, ("x", "area")).startswith(said) or said in which_cases(
        failed, cases, ("x", "area")
    )
    assert which_cases(failed, cases).startswith("Right in ")


def test_a_mistake_that_nothing_else_names():
    """Both tensors may lie on the CPU here."""
    dtypes = "(torch.float16, torch.bfloat16, torch.float32)"
    answer = f"same = gate.device == up.device\nreturn same and gate.shape == up.shape and gate.dtype == up.dtype and gate.dtype in {dtypes}"
    result = judge.examine(replace(load("pass_take"), mutants=()), answer)
    assert result.lines[0].startswith("Right in 18 of 20 cases. Wrong in: on the CPU; both without data.")
    assert result.lines[1] == "The function returned True; expected False."
