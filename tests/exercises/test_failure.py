"""What a failed check says of its cases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labkit.exercises import Case, judge, session
from labkit.exercises.diagnose import Diagnosis
from labkit.exercises.failure import Failure, put, to_show, which_cases
from labkit.exercises.result import Result
from labkit.exercises.spec import load
from labkit.exercises.stub import template
from labkit.launch.record import Finding, tensor_of


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


def test_a_check_ends_with_the_first_case_whose_ranks_do_not_come_back(monkeypatch):
    """Each further case would wait as long, and so would each variation in which a mistake is looked for."""
    pytest.importorskip("torch")
    from labkit.device.ranks import _Pool

    calls, call = [], _Pool.call
    monkeypatch.setattr(_Pool, "call", lambda *given: calls.append(1) or call(*given))
    monkeypatch.setenv("LABKIT_RANKS_S", "1")
    spec = load("many_average")
    assert len(spec.function(spec.cases)(1, False)) > 1
    got = judge.examine(spec, "while True: pass\n" + template(spec).solution())
    assert got.state == "FAIL" and "no answer within 1 s" in str(got) and "were not run" in str(got), got
    assert len(calls) == 1


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


def test_an_exception_of_an_odd_case_does_not_hide_the_wrong_values():
    """Five cases have the sum of the norms for the root of their squares; the one without a gradient divides by it."""
    found = judge.examine(load("mp_clip"), "norm = sum(norms)\nreturn min(1.0, largest / norm)")
    assert found.diagnosis == "value" and found.lines[0].startswith("The norms are added"), str(found)
    assert "Besides, case no gradient at all ends in an exception, exercise mp_clip:2: `norm` is 0" in str(found)
    alone = judge.examine(load("mp_clip"), "norm = sum(n * n for n in norms) ** 0.5\nreturn min(1.0, largest / norm)")
    assert alone.diagnosis == "exception" and "Besides" not in str(alone)


@pytest.mark.parametrize("keys, shown", [("vve", "value"), ("ev", "exception"), ("eev", "exception")])
def test_exceptions_come_last_only_where_they_are_few(keys, shown):
    kinds = {"v": "value", "e": "exception"}
    failures = [Failure(Case(str(k), (), None), Diagnosis(kinds[key], {})) for k, key in enumerate(keys)]
    assert to_show(failures).diagnosis.key == shown


@pytest.mark.parametrize(
    "operand, code, name",
    [
        ("src", "DataCopyPad(yGm[row], total, DataCopyExtParams(1, sizeof(float), 0, 0, 0));", "total"),
        ("dst", "    Add(z[at * 2], x, y, n);  // Add(a, b)", "z[at * 2]"),
        ("src1", "if (n > 0) Add(z, x, y, n);", "y"),
        ("src", "Select(z, mask, x, y, mode, n);", ""),  # its second operand is the mask
        ("src", "Exp(a, b, n); Exp(c, d, n);", ""),
        ("src1", "Add(z, x,", ""),
        ("workspace", "ReduceSum(z, x, w, n);", ""),
    ],
)
def test_the_tensor_that_an_operand_is(operand, code, name):
    assert tensor_of(operand, code)[0] == name


@pytest.mark.parametrize(
    "lang, place, seen", [("en", "given part of ", "`total` (src of"), ("zh", "给定部分 ", "`total`（")]
)
def test_a_finding_in_the_given_part_names_the_tensor_and_the_learners_line(monkeypatch, lang, place, seen):
    monkeypatch.setenv("LABKIT_LANG", lang)
    numbers = {"what": "src", "memory": "UB", "addr": 32768, "bytes": 4}
    where = "given part of row_sum"
    finding = Finding("uninit-local", "error", 0, where, 49, numbers)
    result = Result("row_sum", "FAIL")
    cell = "if (rest) {}\n// ---- region 2 of 2 ----\nWholeReduceSum(total, parts, count, 1, 1, 1, 8);"
    put(
        load("row_sum"),
        result,
        Failure(None, Diagnosis("uninit-local", numbers, finding=finding), where=f"{where}:49"),
        cell,
        2,
    )
    assert result.lines[0].startswith(seen) and "WholeReduceSum(total" in result.notes[-1] and "4" in result.notes[-1]
    assert f"\n  {place}row_sum:49  DataCopyPad" in str(result) and place in result._html()


def test_an_unknown_name_comes_with_those_that_there_are():
    text = "begin.record()\nwork()\nafter.record()\npairs.append((before, after))\n# ---- region 2 of 2 ----\n"
    found = judge.examine(load("lie_wait"), text + "return [1000 * a.elapsed_time(b) for a, b in pairs]")
    assert (
        "`begin` is not known here." in found.lines[0] and "`before`" in found.lines[0] and "`pairs`" in found.lines[0]
    )
