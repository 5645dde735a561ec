"""What is taken out of a notebook; nothing in it is run."""

import json
import os

import pytest

from labkit.camp.submission import Unreadable, answers, submissions


def notebook(path, *sources):
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [{"cell_type": "code", "source": s} for s in sources] + [
        {"cell_type": "markdown", "source": "%%exercise no\nx"}
    ]
    path.write_text(json.dumps({"cells": cells, "nbformat": 4}), encoding="utf-8")
    return path


def test_exercise_cells_and_predictions(tmp_path):
    found = answers(
        notebook(
            tmp_path / "a.ipynb",
            ["%%exercise one\n", "x = 1\n", "y = 2\n"],
            'labkit.predict("two", 192 * 1024 // 2)',
            "%time\nimport labkit\nr = labkit.predict('three', \"MTE2\"); r",
            'labkit.predict(exercise_id="four", value=...)',
            "%%exercise one\nx = 3",
            "print('predict')",
        )
    )
    assert (found["one"].source, found["one"].cell) == ("x = 3", 5)
    assert {n: a.value for n, a in found.items() if n != "one"} == {"two": 98304, "three": "MTE2", "four": ...}


@pytest.mark.parametrize(
    "text", ["open('made', 'w')", "__import__('os')", "x", "10 ** 10 ** 10", "2 ** 64 ** 9", "(lambda: 1)()", "[i for i in x]",
             "1 / 0", "'a' * 9", "f'{x}'", "True + 1", "b'x'", "1 << 9"]
)  # fmt: skip
def test_an_answer_that_is_no_value(tmp_path, text):
    made = answers(notebook(tmp_path / "a.ipynb", f"labkit.predict('one', {text})"))["one"]
    assert made.problem and made.value is None
    assert sorted(os.listdir(tmp_path)) == ["a.ipynb"]


def test_a_cell_is_read_as_ipython_runs_it(tmp_path):
    """Blank lines and an indentation in front, lines of IPython's own, and what only looks like one."""
    found = answers(
        notebook(
            tmp_path / "a.ipynb",
            "\n  \n%%exercise one\nx = 1\n",
            "  %%exercise two\n  x = 1\n    y = 2",
            "labkit.predict('three', 10\n  % 4)",
            "labkit.predict('four', 4)\nlabkit.predict?\n?labkit\nfiles = !ls\nhere = %pwd",
            "  labkit.predict('five', 5)",
        )
    )
    assert [found[n].source for n in ("one", "two")] == ["x = 1", "x = 1\n  y = 2"]
    assert {n: a.value for n, a in found.items() if a.source is None} == {"three": 2, "four": 4, "five": 5}


def test_of_several_predictions_in_a_cell_the_last_counts(tmp_path):
    text = "print(labkit.predict('one', 1))\nlabkit.predict('one', 2)"
    assert answers(notebook(tmp_path / "a.ipynb", text))["one"].value == 2


@pytest.mark.parametrize("text", ["1 | 2", "~1", "not 1"])
def test_an_operator_that_is_not_worked_out_is_shown_as_written(tmp_path, text):
    problem = answers(notebook(tmp_path / "a.ipynb", f"labkit.predict('one', {text})"))["one"].problem
    assert f"`{text}` is no value" in problem


@pytest.mark.parametrize("text", ["", "[]", '{"cells": 3}', "[" * 100_000, '{"cells": [{"cell_type"', "\0"])
def test_what_is_no_notebook(tmp_path, text):
    (tmp_path / "a.ipynb").write_text(text)
    with pytest.raises(Unreadable, match="a.ipynb"):
        answers(tmp_path / "a.ipynb")


def test_odd_cells_are_passed_over(tmp_path):
    (tmp_path / "a.ipynb").write_text(
        json.dumps({"cells": [1, {"cell_type": "code"}, {"cell_type": "code", "source": 5}]})
    )
    assert answers(tmp_path / "a.ipynb") == {}
    assert answers(notebook(tmp_path / "b.ipynb", "predict(((", "predict('a')", "predict(a, 1)")) == {}


def test_layouts(tmp_path):
    for name in (
        "submitted/ann/ps1/01.01_first.ipynb",
        "submitted/bob/ps1/01.01_first.ipynb",
        "submitted/bob/ps1/.ipynb_checkpoints/x.ipynb",
    ):
        notebook(tmp_path / name)
    os.symlink(tmp_path / "submitted/ann/ps1/01.01_first.ipynb", tmp_path / "submitted/bob/ps1/link.ipynb")
    assert [(s.student, s.assignment) for s in submissions(tmp_path)] == [("ann", "ps1"), ("bob", "ps1")]
    notebook(tmp_path / "flat/carl/01.02_tiles.ipynb")
    notebook(tmp_path / "flat/dora.ipynb")
    assert [(s.student, s.assignment) for s in submissions(tmp_path / "flat")] == [
        ("dora", "dora"),
        ("carl", "01.02_tiles"),
    ]
