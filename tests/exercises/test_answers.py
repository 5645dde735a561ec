"""What an answer says beyond right and wrong: a mistake by its sentence, time limits, ours against yours, what is next."""

from __future__ import annotations

import functools
import signal
import threading
import time
from dataclasses import replace

import pytest
from ops_lab import module
from places import FIXTURES

from labkit import paths
from labkit.exercises import check, known_mistakes, order, predict, session
from labkit.exercises.judge import forget
from labkit.exercises.slips import endless, unbalanced
from labkit.exercises.spec import load
from labkit.exercises.stub import parse, template
from labkit.exercises.time_limit import TookTooLong, time_limit
from labkit.exercises.value_remarks import remark


@pytest.fixture(autouse=True)
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_KERNELS", str(FIXTURES / "kernels"))
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "progress.jsonl"))
    monkeypatch.setattr(session, "_current", None)
    for name in ("fx_share", "fx_tail", "fx_tiles"):
        forget(name)


def solution(name: str) -> str:
    return template(load(name)).solution()


# ---- known mistakes

SAID = "The share is rounded down: the last elements belong to no block."


def test_the_same_mistake_in_other_words_gets_its_sentence(monkeypatch):
    result = check("fx_share", "edges = []\nfor i in range(blocks + 1):\n    edges += [min(n, i * int(n / blocks))]")
    assert result.diagnosis == "value" and result.lines[0] == SAID and "The function returned" in result.lines[1]
    assert f"What: {SAID}" in str(result) and "Seen: The function returned" in str(result)
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert "份额向下取整" in str(check("fx_share", "edges = [min(n, i * (n // blocks)) for i in range(blocks + 1)]"))


def test_another_mistake_does_not():
    # as the known one for the first two sizes, and not for the others
    other = "share = n // blocks if n < 30 else n // blocks + 1\nedges = [min(i * share, n) for i in range(blocks + 1)]"
    result = check("fx_share", other)
    assert result.diagnosis == "value" and result.lines[0] != SAID


def test_where_nothing_names_a_mistake_the_known_ones_with_the_same_results_are_told(monkeypatch):
    spec = load("fx_share")
    cases = spec.golden.share_cases(0, False)
    results = {id(c): [(0, c.args[0] // 2)] for c in cases}
    told = functools.partial(known_mistakes.sentence, spec, template(spec), "edges = [n]", cases, every=cases)
    monkeypatch.setattr(known_mistakes, "_told", lambda *_: "")
    assert told(results) == ""
    rounded = template(spec).mutant(spec.mutants[0].regions)
    results = {id(c): r for c, r in zip(cases, known_mistakes.outcome(spec, template(spec), rounded, cases))}
    assert told(results) == f"A known mistake gives the same results: {SAID}"
    another = replace(spec.mutants[0], say={"en": "Or so."}), replace(spec.mutants[0], say={"en": "Or else."})
    spec = replace(spec, mutants=(*spec.mutants, another[0]))
    told = functools.partial(known_mistakes.sentence, spec, template(spec), "edges = [n]", cases, every=cases)
    assert told(results) == f"Two known mistakes give the same results. {SAID} Or: Or so."
    assert told(results, mends=False) == told(results, only_known=True) == ""
    monkeypatch.setattr(known_mistakes, "WAITS", -1.0)
    assert told(results) == "", "of some of them only it would not be known that they are the only ones"


# ---- remarks on values


@pytest.mark.parametrize(
    "got, expected, said",
    [
        (None, 3, "None"),
        (2.5, 3, "`/` gives a fraction"),
        (4, 3, "One too many"),
        (2, 3, "One too few"),
        (-3, 3, "sign"),
        (6, 3, "2 times too large"),
        (3, 3072, "1024 times too small"),
        (7, 3, ""),
        ("half", 3, "of type str"),
        ("Half ", "half", "capital"),
        ("float", "half", ""),
        ("2 blocks of 32: too few", "right", "In place of 'right': 2 blocks of 32: too few."),
        ([1, 2], [1, 2, 3], "2 elements; 3"),
        ([2, 1], [1, 2], "another order"),
        ([1, 5], [1, 2], "Only element 1"),
        ((1, 3), (1, 2), "One too many"),
        (5, [1, 2], "of type int"),
        ({"a": 1}, {"a": 1, "b": 2}, "Missing: b; not asked for: -"),
        ({"a": 1, "b": 3}, {"a": 1, "b": 2}, "b: One too many."),
        ({"a": 7, "b": 9}, {"a": 1, "b": 2}, ""),
        ([3, 3], [1, 2], ""),
        (True, 3, "of type bool"),
        (0, 3, ""),
    ],
)
def test_remarks(got, expected, said):
    assert said in remark(got, expected) and (said or not remark(got, expected))


def test_inputs_are_shown_with_their_names():
    assert "Inputs: n=" in str(check("fx_share", "edges = [1] * (blocks + 1)"))


def test_a_stopped_launch_is_shown_on_the_cells_own_line():
    cell = solution("add_compute").replace("queueZ.EnQue(z);", "queueZ.EnQue(z);\nqueueZ.EnQue(z);")
    line = len(cell[: cell.rindex("queueZ.EnQue")].split("\n"))
    found = check("add_compute", cell)
    assert found.where == f"exercise add_compute:{line}", str(found)


# ---- time limits


def test_a_loop_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr(time_limit, "__defaults__", (0.3, 5.0))
    monkeypatch.setattr(time_limit.__wrapped__, "__defaults__", (0.3, 5.0))
    for cell in (
        "while True:\n    pass",
        "while True:\n    try:\n        blocks += 1\n    except Exception:\n        pass",
    ):
        result = check("fx_share", cell, first_line=2)
        assert result.diagnosis == "took-too-long" and result.where.startswith("exercise fx_share:"), str(result)
    assert check("fx_share", solution("fx_share")).passed


def test_waiting_is_limited_too_and_timers_come_back():
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append("mine"))
    signal.setitimer(signal.ITIMER_REAL, 600)
    try:
        with pytest.raises(TookTooLong), time_limit(60, 0.1):
            time.sleep(30)
        left = signal.setitimer(signal.ITIMER_REAL, 0)[0]
        assert 590 < left <= 600 and signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL
        assert signal.setitimer(signal.ITIMER_PROF, 0) == (0.0, 0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_thread_has_no_limit_and_no_error():
    done = []

    def work():
        with time_limit(0.01, 0.01):
            time.sleep(0.05)
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done


# ---- loops without an end


@pytest.mark.parametrize(
    "loop, said",
    [
        ("while k < n:\n    total += k", "nothing in it changes `k`, `n`"),
        ("while k < n:\n    total += k\n    k += 1", ""),
        ("while things:\n    things.pop()", ""),
        ("while True:\n    k += 1", "always true"),
        ("while True:\n    break", ""),
        ("while True:\n    raise StopIteration", ""),
        ("while k < len(things):\n    total += f(k)", "nothing in it changes `k`, `things`"),
        ("while things.sum() < n:\n    total += k", "changes `n`, `things`"),
        ("while things[0] < n:\n    things[0] += 1", ""),
        ("while things.k < n:\n    things.k += 1", ""),
        ("while things:\n    del things[0]", ""),
        ("while things:\n    heapq.heappop(things)", ""),
        ("while (k := k + 1) < n:\n    total += k", ""),
        ("while next(things) < n:\n    total += k", ""),
    ],
)
def test_endless_loops(loop, said):
    one = parse("def f(k, n, total, things):\n    # >>> exercise: all of it | 全部\n    pass\n    # <<<\n", "#")
    found = endless(one.join(loop, "exercise x"), 1)
    assert said in found and bool(said) == bool(found)


# ---- brackets


@pytest.mark.parametrize(
    "text, comment, found",
    [
        ("f(a[1]);", "//", None),
        ("f(\n  a[1;\n", "//", (2, "[", True)),
        ("for (;;) {\n  g();\n", "//", (1, "{", True)),
        ("g());", "//", (1, ")", False)),
        ("g(); // (", "//", None),
        ("g(\"(\", ')'); /* {\n */", "//", None),
        ("if (n > 1'000) { m = 2'000; }", "//", None),
        ("x = [1, 2  # ]\n", "#", (1, "[", True)),
        ("x = '('\n", "#", None),
        ("(]", "#", (1, "(", True)),
    ],
)
def test_unbalanced(text, comment, found):
    assert unbalanced(text, comment) == found


# ---- under PASS


def test_why_and_what_is_next_stand_under_pass():
    result = predict("fx_tiles", 16)
    assert result.why and f"Why: {result.why}" in str(result) and "<details><summary>Why" in result._html()
    assert not predict("fx_tiles", 3).why
    assert any(line.startswith("Next: ") for line in result.next)


def test_ours_against_yours():
    result = check("fx_tail", solution("fx_tail"))
    assert result.passed and f"{result.time_us:.2f} us, modelled; ours {result.time_us:.2f} us" in str(result)


def test_ours_is_timed_on_the_chip_of_yours(monkeypatch):
    first = check("fx_tail", solution("fx_tail")).time_us
    monkeypatch.setenv("LABKIT_CHIP", "910B4")
    result = check("fx_tail", solution("fx_tail"))
    assert result.time_us != first and f"ours {result.time_us:.2f} us" in str(result)


def test_the_order_is_that_of_the_notebooks(monkeypatch):
    names = order.in_order()
    assert names.index("add_copies") < names.index("add_case_repair") < names.index("tail_split")
    assert order.notebook_of("add_copies") == "01.01" and order.notebook_of("fx_tail") == ""
    assert order.following("add_copies", set()) == names[names.index("add_copies") + 1]
    assert order.following("add_copies", {names[names.index("add_copies") + 1]}) == names[names.index("add_copies") + 2]
    assert order.following(names[-1], set()) == names[0] and order.following("add_copies", set(names)) == ""


def test_the_page_of_blind_trials_has_the_table_of_its_rows():
    trial = module("answers_trial", paths.repo_root() / "scripts" / "answers_trial.py")
    page = (trial.DATA / "blind_trials.md").read_text(encoding="utf-8")
    assert "\n".join(["<!-- answers -->", *trial.table(), "<!-- end -->"]) in page
    assert len(trial.table()) > 20
