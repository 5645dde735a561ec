"""What golden.py knows besides an expected result: what else was asked, named wrong results, values it cannot use."""

from __future__ import annotations

import numpy as np
import pytest

from labkit import device
from labkit.exercises import Case, check
from labkit.exercises.judge import forget
from labkit.exercises.known_mistakes import named_result
from labkit.exercises.spec import load
from labkit.exercises.stub import template


@pytest.fixture(autouse=True)
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "progress.jsonl"))
    for name in ("compile_tile", "cap_project", "package_tiling"):
        forget(name)


@pytest.mark.parametrize(
    "cell, said",
    [
        ("constexpr uint32_t BYTES = UB_BYTES / (3 * BUFFERS) & ~31u, TILE{BYTES / sizeof(T)};\n"
         "constexpr size_t all = TILE * sizeof(T) * 6;\nstatic_assert(!(all > UB_BYTES));", ""),
        ("constexpr uint32_t TILE = UB_BYTES / (6 * sizeof(T)) / 128 * 128;\n"
         "static_assert(TILE * 6 * sizeof(T) <= UB_BYTES);", "smaller than it could be"),
        ("constexpr uint32_t TILE = UB_BYTES / (6 * sizeof(T));\nstatic_assert(6 * TILE * sizeof(T) <= UB_BYTES);",
         "no whole number of units"),
        ("const uint32_t TILE = UB_BYTES / (6 * sizeof(T)) / (32 / sizeof(T)) * (32 / sizeof(T));\n"
         "static_assert(6 * TILE * sizeof(T) <= 192 * 1024);", "still holds for a tile that is 32 bytes too large"),
        ("constexpr uint32_t TILE = UB_BYTES / (6 * sizeof(T)) / (32 / sizeof(T)) * (32 / sizeof(T));\n"
         "// static_assert(6 * TILE * sizeof(T) <= UB_BYTES);", "static_assert that six tiles fit UB_BYTES is missing"),
        ("uint32_t part = UB_BYTES / 6;\nuint32_t TILE = part / sizeof(T) / 16 * 16;", "make it a constexpr"),
    ],
)  # fmt: skip
def test_what_no_result_shows(cell, said):
    result = check("compile_tile", cell)
    assert result.state == ("FAIL" if said else "PASS") and said in str(result), str(result)


def test_a_todo_of_python_may_stay_where_the_lines_are_cpp():
    """The cell begins with `# TODO`, which names `cores`: no invalid directive, and no use of `cores` either."""
    ours = template(load("package_tiling"))
    todo = ours.stub().split("\n")[0]
    assert todo.startswith("# TODO") and check("package_tiling", f"{todo}\n{ours.solution()}").passed
    fixed = ours.solution().replace("(units + cores - 1) / cores", "(units + 47) / 48")
    assert check("package_tiling", f"{todo}\n{fixed}").diagnosis == "not-asked"


def test_a_value_that_golden_cannot_use_is_a_fail():
    cell = (
        'WORK = """\nfor (uint32_t r = 0; r < here; r++) Mul(xs[r * pitch], xs[r * pitch], scales, width);\n'
        'Add(ys, xs, rs, here * pitch);\n"""\n# ---- region 2 of 2 ----\nreturn {"blocks": "all", "scalars": []}'
    )
    result = check("cap_project", cell)
    assert result.state == "FAIL" and result.diagnosis == "exception" and "blocks (1 to 65535)" in str(result)


# ---- wrong results that have a name

RIGHT = np.arange(8, dtype=np.float32)
TWICE = [("all twice", 2 * RIGHT), ("one more", RIGHT + 1)]


def case(mistakes=TWICE, right=RIGHT):
    return Case("drawn", (), right, mistakes=(lambda: mistakes) if mistakes else None)


@pytest.mark.parametrize(
    "cases, results, said",
    [
        ([case()], [[2 * RIGHT + 1e-6]], "all twice"),
        ([case()], [[2 * RIGHT + 1]], ""),
        ([case(), case()], [[2 * RIGHT], [RIGHT + 1]], ""),  # not the same in both
        ([case(), case(None)], [[2 * RIGHT], [RIGHT + 1]], "all twice"),
        ([case([("nothing wrong", RIGHT)])], [[RIGHT]], ""),
        ([case([("a", RIGHT + 1), ("b", RIGHT + 1)])], [[RIGHT + 1]], ""),
        ([case()], ["a finding"], ""),
    ],
)
def test_named_results(cases, results, said):
    given = dict(zip(map(id, cases), results))
    assert named_result(cases, lambda one: given[id(one)]) == said


@pytest.mark.parametrize("name", ["lie_wait", "launch_overlap", "launch_events", "rank_case_repair"])
def test_our_answer_passes_behind_a_full_timeline(name):
    """As in a long session: goldens that counted behind the timeline's length saw "0 launches" of every answer."""
    for _ in range(1 << 17):
        device.launch("before", 1.0)
    assert check(name, template(load(name)).solution()).passed
