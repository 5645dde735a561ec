"""Exercises: specs, stubs, the four states, hints, progress. The fixtures' kernel runs on the twin."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from types import SimpleNamespace

import pytest
from places import FIXTURES

import labkit
from labkit.exercises import (
    Case,
    CheckFailed,
    Out,
    SpecError,
    check,
    exercise,
    hint,
    predict,
    progress_log,
    session,
    spec,
)
from labkit.exercises import progress as progress_table
from labkit.exercises.judge import examine, forget
from labkit.exercises.progress_log import events, log_path, record
from labkit.exercises.result import MIME
from labkit.exercises.spec import folders, load, read
from labkit.exercises.stub import RegionError, parse, template
from labkit.launch.record import LaunchError
from labkit.notebook import verify

EXERCISES = FIXTURES / "kernels"


@pytest.fixture(autouse=True)
def room(tmp_path, monkeypatch):
    """The fixture exercises, a log of their own, and no memory of earlier tests."""
    monkeypatch.setenv("LABKIT_KERNELS", str(EXERCISES))
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "log" / "progress.jsonl"))
    monkeypatch.setattr(session, "_current", None)
    for name in ("fx_share", "fx_tail", "fx_tiles"):
        forget(name)


def ours(name: str):
    return template(load(name))


# ---- specs


def test_ids_and_unknown_id():
    assert {"fx_share", "fx_tail", "fx_tiles"} <= set(folders())
    with pytest.raises(SpecError, match="did you mean 'fx_tail'"):
        exercise("fx_tale")
    with pytest.raises(TypeError, match="labkit.predict"):
        check("fx_tiles")
    with pytest.raises(TypeError, match="%%exercise"):
        predict("fx_tail", 3)


@pytest.mark.parametrize(
    "old, new, told",
    [
        ('kind = "python"', 'kind = "phyton"', "kind is 'phyton'"),
        ("minutes = 8", "", "minutes is missing"),
        ("minutes = 8", "minuets = 8", "unknown field minuets"),
        ("difficulty = 1", "difficulty = 9", "must be 1 to 5"),
        ('entry = "shares"', "", "entry is missing"),
        ('zh = "把数据分给各个核"', 'zh = ""', "title has no zh text"),
        ("[[mutant]]", "[[mutant", "not TOML"),
        ('noticed = "value"', "", "noticed"),
        ('id = "fx_share"', 'id = "other"', "differs from the folder's name"),
    ],
)
def test_a_broken_spec_says_file_and_field(tmp_path, old, new, told):
    folder = tmp_path / "op" / "exercises" / "fx_share"
    shutil.copytree(EXERCISES / "fx" / "exercises" / "fx_share", folder)
    spec = folder / "spec.toml"
    spec.write_text(('id = "fx_share"\n' + spec.read_text()).replace(old, new, 1))
    with pytest.raises(SpecError, match=told) as error:
        read(spec)
    assert "spec.toml" in str(error.value)


def test_the_same_id_twice(tmp_path, monkeypatch):
    shutil.copytree(EXERCISES / "fx", tmp_path / "two" / "fx")
    monkeypatch.setenv("LABKIT_KERNELS", os.pathsep.join([str(EXERCISES), str(tmp_path / "two")]))
    with pytest.raises(SpecError, match="is taken by"):
        folders()


# ---- stubs

TWO = """void f() {
    // >>> exercise: first | 一
    // stub: int a = 0;
    int a = 1;
    // <<<
    g();
    // >>> exercise: second | 二
    int b = a + 1;
    // <<<
}
"""


def test_stub_solution_and_line_numbers():
    t = parse(TWO, "//")
    assert t.stub() == "// TODO: first\nint a = 0;\n// ---- region 2 of 2 ----\n// TODO: second"
    assert t.stub("zh").startswith("// TODO: 一")
    assert t.solution() == "int a = 1;\n// ---- region 2 of 2 ----\nint b = a + 1;"
    joined = t.join("int a = 5;\n\n// ---- region 2 of 2 ----\nint b = 6;", "exercise x", first_line=2)
    assert joined.text.split("\n")[:-1] == [
        '#line 1 "given part of x"',
        "void f() {",
        '#line 2 "exercise x"',
        "int a = 5;",
        "",
        '#line 6 "given part of x"',
        "    g();",
        '#line 5 "exercise x"',
        "int b = 6;",
        '#line 10 "given part of x"',
        "}",
    ]
    assert joined.place(4) == ("cell", 2) and joined.place(7) == ("given", 6) and joined.place(9) == ("cell", 5)
    with pytest.raises(RegionError, match="1 regions, the exercise 2"):
        t.join("int a = 5;", "exercise x")
    assert t.mutant(("", "int b = 0;")) == "int a = 1;\n// ---- region 2 of 2 ----\nint b = 0;"


def test_a_mutant_as_an_edit_of_the_solution():
    t = parse("// >>> exercise: it | 它\nint a = 1;\nint b = a;\n// <<<", "//")
    assert t.mutant((), (("a = 1", "a = 2"), ("= a;", "= 7;"))) == "int a = 2;\nint b = 7;"
    for edit in (("c", "d"), ("int", "long")):
        with pytest.raises(SpecError, match="must stand once"):
            t.mutant((), (edit,))
    with pytest.raises(SpecError, match="only region"):
        parse(TWO, "//").mutant((), (("a = 1", "a = 2"),))


def test_only_our_stub_is_a_stub():
    t = parse(TWO, "//")
    assert (
        t.is_stub(t.stub())
        and t.is_stub(t.stub("zh"))
        and t.is_stub("int a  =  0; // mine\n/* x */\n// ---- region 2 of 2 ----\n\n")
    )
    assert (
        not t.is_stub(t.solution())
        and not t.is_stub("int a = 0;\n// ---- region 2 of 2 ----\n;")
        and not t.is_stub("int a = 0;")
    )


def test_python_regions_are_indented_and_forgiving():
    t = ours("fx_share")
    for cell in (
        "edges = [n]\nif n:\n    edges = []",
        "    edges = [n]\n    if n:\n        edges = []",
        "# note\n    edges = [n]\n    if n:\n        edges = []",
    ):
        joined = t.join(cell, "exercise x")
        compile(joined.text, "x", "exec")
        assert "    edges = [n]\n    if n:\n        edges = []\n    return" in joined.text


@pytest.mark.parametrize(
    "text, told",
    [
        ("x\n", "no region"),
        ("// >>> exercise: a | b\n", "not closed"),
        ("// <<<\n", "closes nothing"),
        ("// >>> exercise: only English\n// <<<\n", "both languages"),
        ("// >>> exercise: a | b\n// >>> exercise: a | b\n", "inside the region"),
    ],
)
def test_marker_mistakes_are_told_with_the_line(text, told):
    with pytest.raises(SpecError, match=told):
        parse(text, "//", "f.asc")


# ---- the four states


@pytest.mark.parametrize(
    "name, what",
    [
        ("fx_share", "stub"),
        ("fx_share", "stub as code"),
        ("fx_share", "solution"),
        ("fx_share", "rounds down"),
        ("fx_share", "uses a name that is not there"),
        ("fx_tiles", "stub"),
        ("fx_tiles", "solution"),
        ("fx_tiles", "forgets the tail"),
        ("fx_tiles", "counts bytes"),
        ("fx_tiles", "one too many"),
        ("fx_tail", "stub"),
        ("fx_tail", "stub as code"),
        ("fx_tail", "solution"),
        ("fx_tail", "leaves the tail out"),
        ("fx_tail", "one element short"),
    ],
)
def test_fixture_exercises_hold(name, what):
    verdict = verify.one(name, what)
    assert verdict.ok, verdict.result


def test_plan_lists_every_verdict():
    assert len(verify.plan(["fx_share", "fx_tiles", "fx_tail"])) == 15


def test_a_result_in_three_forms_and_two_languages(monkeypatch):
    cell = ours("fx_share").mutant(load("fx_share").mutants[0].regions)
    result = check("fx_share", cell)
    bundle = result._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", MIME} and json.dumps(bundle[MIME])
    assert bundle[MIME]["state"] == "FAIL" and bundle[MIME]["diagnosis"] == "value" and bundle[MIME]["cases"] == 12
    assert "What:" in str(result) and "labkit.hint" in str(result) and "FAIL" in bundle["text/html"]
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert "现象：" in str(check("fx_share", cell)) and "FAIL" in str(check("fx_share", cell))


def test_html_is_escaped():
    result = check("fx_share", "edges = '<script>'")
    assert "<script>" not in result._repr_mimebundle_()["text/html"]


def test_plain_text_alone(monkeypatch):
    monkeypatch.setenv("LABKIT_PLAIN", "1")
    assert set(check("fx_share", "edges = []")._repr_mimebundle_()) == {"text/plain", MIME}
    assert set(exercise("fx_tail").brief()._repr_mimebundle_()) == {"text/plain"}


def test_strict_raises_on_fail_and_todo_only(monkeypatch):
    monkeypatch.setenv("LABKIT_STRICT", "1")
    t = ours("fx_share")
    assert check("fx_share", t.solution()).passed and predict("fx_tiles", 16).passed
    for call in (
        lambda: check("fx_share", t.stub()),
        lambda: check("fx_share", "edges = []"),
        lambda: predict("fx_tiles", ...),
        lambda: predict("fx_tiles", 3),
    ):
        with pytest.raises(CheckFailed) as error:
            call()
        assert error.value._render_traceback_() == [str(error.value.result)]


def test_check_without_source_uses_the_last_cell():
    assert check("fx_share").state == "TODO" and "%%exercise fx_share" in str(check("fx_share"))
    check("fx_share", ours("fx_share").solution())
    assert check("fx_share").passed and exercise("fx_share").check().passed


def test_an_exception_names_the_cells_line():
    result = check("fx_share", "edges = [1]\nedges[9]\n", first_line=2)
    assert (
        result.diagnosis == "exception" and result.where == "exercise fx_share:3" and result.source_line == "edges[9]"
    )
    result = check("fx_share", "edges = (\n", first_line=2)
    assert result.diagnosis == "bracket-open" and result.where == "exercise fx_share:2"
    assert check("fx_share", "edges = [0]]\n").diagnosis == "bracket-closed"
    assert check("fx_share", "edges == = 1\n").diagnosis == "compile"
    result = check("fx_share", "edges = None")
    assert result.where == "given part of fx_share:11" and "zip(" in result.source_line


def test_skip_is_said_and_is_never_pass(monkeypatch):
    monkeypatch.setattr(session, "_current", session.Session("npu", reason="no card"))
    for cell in (ours("fx_tail").solution(), "nonsense"):
        result = check("fx_tail", cell)
        assert result.state == "SKIP" and not result.passed and "no card" in str(result)
    assert check("fx_tail", ours("fx_tail").stub()).state == "TODO"
    assert check("fx_share", ours("fx_share").solution()).passed, "a check on the host needs no NPU"


# ---- a stand-in for a kernel: what the twin cannot easily be made to do


class Fake:
    """Stands for a built kernel: `behave(x, y, n)` and a record."""

    def __init__(self, behave, **more):
        self.behave, self.more = behave, more

    def __getitem__(self, blocks):
        def launch(*args):
            self.behave(*args)
            return SimpleNamespace(
                **{
                    "findings": [],
                    "time_us": 2.0,
                    "time_kind": "modelled",
                    "chip": "910B1",
                    "ub_used": 1024,
                    "output": "",
                    **self.more,
                }
            )

        return launch


@pytest.fixture
def fake(monkeypatch):
    """fake(behave, **record) makes the kernel of every text that is not the solution's."""

    def right(x, y, n):
        y.copy_(2 * x)

    def use(behave=right, **more):
        reference = Fake(right)
        monkeypatch.setattr("labkit.exercises.launch.DEVICE", "cpu")
        monkeypatch.setattr(sys.modules["labkit.exercises.timing"], "_references", {})
        monkeypatch.setattr(
            "labkit.exercises.launch.build",
            lambda text, filename, entry: reference if filename.startswith("solution") else Fake(behave, **more),
        )

    return use


def test_budgets(fake):
    fake()
    passed = examine(load("fx_tail"), "x")
    assert (
        passed.state == "PASS"
        and "2.00 us" in str(passed)
        and passed.case == "n=4099"
        and "checked on: twin, 910B1, time modelled" in str(passed)
    )
    fake(time_us=3.2)
    assert examine(load("fx_tail"), "x").diagnosis == "too-slow"
    fake(ub_used=5000)
    assert examine(load("fx_tail"), "x").diagnosis == "too-much-ub"
    fake(time_kind="measured")
    assert "time measured" in str(examine(load("fx_tail"), "x")), "a measured time is never called modelled"


def test_a_budget_is_kept_at_its_limit(fake):
    """fx_tail: 4096 bytes of UB, and 1.5 times the reference's 2 us."""
    spec = load("fx_tail")
    assert (spec.budget.max_ub_bytes, spec.budget.max_ratio) == (4096, 1.5)
    fake(ub_used=4096, time_us=3.0)
    found = examine(spec, "x")
    assert found.state == "PASS", f"as much as the budget allows: {found.diagnosis} {found.numbers}"
    fake(ub_used=4097)
    found = examine(spec, "x")
    assert found.diagnosis == "too-much-ub" and found.numbers == {"ub_used": 4097, "limit": 4096}
    fake(time_us=3.001)
    found = examine(spec, "x")
    assert found.diagnosis == "too-slow" and (found.numbers["reference_us"], found.numbers["limit_us"]) == (2.0, 3.0)


def test_findings_outrank_right_results_and_warnings_do_not(fake):
    def finding(severity):
        return SimpleNamespace(
            code="race-raw",
            severity=severity,
            numbers={},
            block=0,
            file="exercise fx_tail",
            line=2,
            count=1,
            lines=lambda lang=None: ["w", "y", "t"],
        )

    fake(findings=[finding("error")])
    result = check("fx_tail", "wrong\nhere", first_line=1)
    assert (result.state, result.diagnosis, result.where, result.source_line) == (
        "FAIL",
        "race-raw",
        "exercise fx_tail:2",
        "here",
    )
    fake(findings=[finding("warning")])
    result = check("fx_tail", "x")
    assert result.state == "PASS" and "[race-raw]" in str(result)


def test_the_most_telling_case_is_shown(fake):
    def no_tail(x, y, n):
        y[: n // 64 * 64] = 2 * x[: n // 64 * 64]

    fake(no_tail)
    result = examine(load("fx_tail"), "x")
    assert result.diagnosis != "unwritten" and result.case not in ("n=1", "n=7") and result.failed == 7


def test_a_launch_that_does_not_finish_stops_the_check(fake):
    def crash(x, y, n):
        raise LaunchError(SimpleNamespace(findings=[], crashed="SIGSEGV", output="", report=lambda: "", finished=False))

    fake(crash)
    result = examine(load("fx_tail"), "x")
    assert (
        result.diagnosis == "launch"
        and result.failed == 1
        and "SIGSEGV" in str(result)
        and "n=1 were not run" in str(result)
    )


def test_what_the_kernel_printed_is_shown_with_a_failure(fake):
    fake(lambda x, y, n: None, output="offset 3\n")
    assert "offset 3" in str(examine(load("fx_tail"), "x"))


def test_wrong_number_of_results_is_the_authors_mistake(fake, monkeypatch):
    fake(lambda *args: None)
    monkeypatch.setitem(
        load("fx_tail").__dict__,
        "golden",
        SimpleNamespace(cases=lambda seed, quick: [Case("c", (Out(3, "float32"),), ())]),
    )
    with pytest.raises(ValueError, match="0 expected results for 1"):
        examine(load("fx_tail"), "x")


# ---- hints, reset, compare, give up, progress


def test_hints_come_one_by_one_and_the_result_offers_the_next():
    assert "hint 1 of 3" in str(check("fx_share", "edges = []"))
    told = [str(hint("fx_share")) for _ in range(4)]
    assert [t.split(":")[0] for t in told[:3]] == [
        "Hint 1 of 3",
        "Hint 2 of 3",
        "Hint 3 of 3",
    ] and "no further hint" in told[3]
    assert "give_up()" in str(check("fx_share", "edges = []"))
    assert "1000" in str(hint("fx_tiles")), "numbers of a prediction are filled in"
    forget("fx_share")
    assert "no further hint" in str(hint("fx_share")), "a new process goes on where the last one stopped"
    exercise("fx_share").reset()
    assert "Hint 1" in str(hint("fx_share"))


def test_compare_opens_after_a_pass():
    ex = exercise("fx_share")
    ex.check(ours("fx_share").mutant(load("fx_share").mutants[0].regions))
    assert "opens when" in str(ex.compare())
    mine = "share = (n + blocks - 1) // blocks\nshare = (share + 7) // 8 * 8\nedges = [min(i * share, n) for i in range(blocks + 1)]"
    assert ex.check(mine).passed
    forget("fx_share")
    assert "Our solution" in str(ex.compare()) and "(share + 7)" not in str(ex.compare()), (
        "after a restart the log still knows of the pass"
    )
    assert ex.check(mine).passed
    assert "(share + 7)" in str(ex.compare()) and "Our solution" in str(ex.compare()) and "32-byte" in str(ex.compare())
    assert predict("fx_tiles", 16).passed and "16 tiles" in str(exercise("fx_tiles").compare())


def test_brief_shows_the_stub_and_never_the_solution():
    for name in ("fx_share", "fx_tail"):
        shown = exercise(name).brief()
        for text in (shown.plain, shown.html):
            assert "TODO" in text and not any(line.strip() in text for line in ours(name).bodies()[0].split("\n"))
    assert "1000 elements" in str(exercise("fx_tiles").brief())
    assert exercise("fx_tail").stub().startswith("%%exercise fx_tail\n// TODO")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_brief_separates_regions_as_the_cell_does(monkeypatch, lang):
    """Who answers from brief() alone: the marked lines, without numbers, marks and indentation, are the cell."""
    from labkit import messages
    from labkit.exercises import handle

    monkeypatch.setattr(messages, "language", lambda: lang)
    t = parse(TWO, "//")
    monkeypatch.setattr(handle, "template", lambda spec: t)
    shown = handle.given_code(SimpleNamespace(id="two"))
    title, *lines = shown.plain.split("\n")
    assert "// ---- region 2 of 2 ----" in title and "2" in title
    mine = [line.partition(" > ")[2].strip() for line in lines if " > " in line]
    assert "\n".join(mine) == t.stub(lang) and len(t.split("\n".join(mine))) == 2
    assert shown.html.count("// ---- region 2 of 2 ----") == 2 and "region 1 of" not in str(shown)

    one = parse("// >>> exercise: it | 它\nint a = 1;\n// <<<", "//")
    monkeypatch.setattr(handle, "template", lambda spec: one)
    assert "region" not in str(handle.given_code(SimpleNamespace(id="one")))


def test_the_log_and_the_table():
    check("fx_share", ours("fx_share").stub())
    check("fx_share", "edges = []")
    hint("fx_share")
    exercise("fx_share").give_up()
    check("fx_share", ours("fx_share").solution())
    predict("fx_tiles", 15)
    log = events()
    assert [e["event"] for e in log] == ["check", "check", "hint", "give-up", "check", "check"]
    assert (
        log[1].keys() == {"time", "event", "id", "state", "target", "seconds", "code", "diagnosis", "hint_level"}
        and log[4]["hint_level"] == 1
    )
    table = progress_table()
    rows = {r.exercise: r for r in table.rows}
    assert (rows["fx_share"].state, rows["fx_share"].attempts, rows["fx_share"].hints, rows["fx_share"].gave_up) == (
        "PASS",
        2,
        1,
        True,
    )
    assert (rows["fx_tiles"].state, rows["fx_tiles"].diagnosis) == ("FAIL", "mutant")
    assert [r.exercise for r in table.rows][-3:] == ["fx_share", "fx_tail", "fx_tiles"] and str(table) == str(
        progress_table()
    )
    assert "fx_share" in table._repr_mimebundle_()["text/html"] and labkit.progress is not None


def test_who_reads_all_exercises_looks_for_none_of_them(monkeypatch):
    one = exercise("fx_share")
    monkeypatch.setattr(spec, "_folder", lambda name: pytest.fail("each operator's folder looked into for one id"))
    assert len(spec.load_all()) == len(folders()) == len(progress_table().rows)
    monkeypatch.setattr(progress_log, "load", lambda name, *_: load(name, *_) if name == one.id else pytest.fail(name))
    assert "not tried" in str(one.status())


def test_a_pass_stays_a_pass_and_torn_lines_are_left_out():
    check("fx_share", ours("fx_share").solution())
    check("fx_share", "edges = []")
    with open(log_path(), "a") as file:
        file.write(
            '{"id": "fx_share", "eve\n[]\n{"id": 3, "event": "check"}\n{"id": "gone", "event": "check", "state": '
            '"PASS"}\n'
        )
    rows = {r.exercise: r for r in progress_table().rows}
    assert rows["fx_share"].state == "PASS" and rows["gone"].state == "PASS"


def test_the_log_never_fails_a_check(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "file" / "progress.jsonl"))
    assert check("fx_share", ours("fx_share").solution()).passed and events() == []
    monkeypatch.setenv("LABKIT_PROGRESS", "off")
    assert log_path() is None and check("fx_share", ours("fx_share").solution()).passed


def test_many_writers_do_not_tear_the_log():
    threads = [
        threading.Thread(target=lambda: [record("check", "x", state="PASS", filler="y" * 500) for _ in range(50)])
        for _ in range(8)
    ]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(events()) == 400


# ---- predictions


@pytest.mark.parametrize(
    "value, key",
    [
        (15, "mutant"),
        (17, "off-by-one"),
        (-16, "sign"),
        (64, "unit-factor"),
        (16 / 1024, "unit-factor"),
        (30, "too-big"),
        (3, "too-small"),
        (-64, "too-small"),
        (-15.9, "too-small"),
        (16000, "unit-factor"),
        (14, "too-small"),
        (18, "too-big"),
        (48, "times"),
        (16 / 3, "part"),
        (0, "too-small"),
        ("sixteen", "type"),
        (True, "type"),
        (None, "type"),
    ],
)
def test_wrong_predictions(value, key):
    result = predict("fx_tiles", value)
    lines = 1 if key == "mutant" else 3
    assert (result.state, result.diagnosis, len(result.lines)) == ("FAIL", key, lines), (
        f"{value} for 16 is {key}, and is told as {result.diagnosis}"
    )


def test_right_predictions():
    assert (
        predict("fx_tiles", 16).passed and predict("fx_tiles", 16.0).passed and predict("fx_tiles", ...).state == "TODO"
    )
