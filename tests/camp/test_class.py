"""A class: release, collect, grade with hidden cases, report. What a student's copy must not hold is looked for in it."""

import json
import os
import re
import subprocess
import sys
import zipfile
from datetime import datetime, timezone

import pytest

from labkit.camp import collect, confine, grade, guide, helper, hidden, release, remote, report, submission, way
from labkit.exercises import judge, launch
from labkit.exercises.diagnose import compare_values
from labkit.exercises.spec import folders, load
from labkit.exercises.stub import normalise, parse, template
from labkit.notebook import source as reader

NOTEBOOK = "scaling"
STEM = next(p.stem for p in reader.sources() if p.stem.endswith("_scaling"))  # its number may change


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    to = tmp_path_factory.mktemp("course")
    return to, release.release(to, "ps1", [NOTEBOOK], seed=5, langs=("en", "zh"))


def test_a_student_copy_has_no_solution(course):
    to, made = course
    assert {"scale_law", "scale_case"} <= set(made.exercises)
    text = {
        p: p.read_text(errors="replace")
        for p in (to / "student").rglob("*")
        if p.is_file() and p.stat().st_size < 1 << 20
    }
    for name in made.exercises:
        spec = load(name)
        copied = to / "student" / "kernels" / spec.op / "exercises" / name
        assert "mutant" not in (copied / "spec.toml").read_text()
        if spec.kind == "predict":
            assert "value" not in release.tomllib.loads((copied / "spec.toml").read_text())["answer"]
            continue
        ours, theirs = template(spec), parse((copied / spec.solution_path.name).read_text(), spec.comment)
        assert theirs.given() == ours.given() and theirs.stub() == ours.stub()
        for region, body in zip(theirs.regions, ours.regions):
            assert [x.strip() for x in region.body] == [x.strip() for x in body.stub]
            solution = normalise("\n".join(body.body), spec.comment)
            held = [p for p, t in text.items() if len(solution) > 30 and solution in normalise(t, spec.comment)]
            # where a cell of the notebook itself shows our way, golden.py has it by the notebook's wish
            assert [p for p in held if p.name != "golden.py"] == [], name
    every = {p.name for p in (to / "student").rglob("*")}
    assert not every & {"mutants.toml", "answers_trial.csv", "tests"}
    assert {p.parent.name for p in (to / "student" / "kernels").glob("*/exercises/*/spec.toml")} == set(made.exercises)


def test_a_student_checks_the_shown_cases_with_it(course):
    to, _ = course
    right = template(load("scale_law")).solution()
    wrong = template(load("scale_law")).mutant(load("scale_law").mutants[0].regions)
    code = (
        "import sys, labkit\nfrom labkit.exercises import judge, prediction\nfrom labkit.exercises.spec import load, load_all\n"
        "from labkit.exercises.question import question\nload_all()\n"
        f"print(judge.examine(load('scale_law'), {right!r}).state, judge.examine(load('scale_law'), {wrong!r}).state)\n"
        "print(prediction.examine(load('scale_case'), 'pageable').state, bool(question(load('scale_case'))), labkit.__file__)"
    )
    env = os.environ | {"PYTHONPATH": str(to / "student"), "LABKIT_PROGRESS": "off"}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, cwd=to)
    assert out.stdout.split()[:4] == ["PASS", "FAIL", "SKIP", "True"], out.stderr[-800:]
    assert str(to) in out.stdout


def test_nbgraders_layout_and_words(course):
    import nbformat

    to, made = course
    assert sorted(p.name for p in (to / "release").iterdir()) == ["ps1", "ps1-zh"]
    (file,) = (to / "release" / "ps1").iterdir()
    book = nbformat.read(file, as_version=4)
    nbformat.validate(book)
    cells = [c.metadata.nbgrader for c in book.cells if "nbgrader" in c.metadata]
    assert [c.grade_id for c in cells] == made.exercises and all(c.points == 1 and c.schema_version == 3 for c in cells)
    assert oct((to / "class.toml").stat().st_mode & 0o777) == "0o600"
    assert not any(p.name == "class.toml" for p in (to / "student").rglob("*"))
    with pytest.raises(ValueError, match="class.toml"):
        release.release(to, "ps2", [NOTEBOOK], seed=6)
    with pytest.raises(ValueError, match="nowhere"):
        release.release(to, "ps2", ["nowhere"])
    with pytest.raises(ValueError, match="\\.\\."):
        release.release(to, "../ps2", [NOTEBOOK])


def test_seeds_follow_from_the_class():
    assert release.seed_of(5, "ps1") == release.seed_of(5, "ps1-zh") != release.seed_of(5, "ps2")
    assert release.seed_of(5, "ps1") not in (0, release.seed_of(6, "ps1"))


def book(*sources, name=STEM) -> bytes:
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": s} for s in sources
    ]
    return json.dumps(
        {"cells": cells, "metadata": {"labkit": {"id": name}}, "nbformat": 4, "nbformat_minor": 5}
    ).encode()


def test_what_comes_back(tmp_path):
    to, source = tmp_path / "course", tmp_path / "in"
    (source / "ann").mkdir(parents=True)
    (source / "ann" / "my work.ipynb").write_bytes(book("1"))
    os.utime(source / "ann" / "my work.ipynb", (2e9, 2e9))
    (source / "ann" / "other.ipynb").write_bytes(book("1", name="01.01_first"))
    with zipfile.ZipFile(source / "Bob Li_771_assignsubmission_file_.zip", "w") as z:
        z.writestr(zipfile.ZipInfo("../../../up.ipynb", (2026, 11, 1, 0, 0, 0)), book("old"))
        z.writestr(zipfile.ZipInfo(f"{STEM}.ipynb", (2026, 11, 2, 0, 0, 0)), book("new"))
        z.writestr("run.sh", "touch /tmp/x")
        z.writestr(".labkit/progress.jsonl", "{}")
        link = zipfile.ZipInfo(f"{STEM}-link.ipynb")
        link.external_attr = 0o120777 << 16
        z.writestr(link, "/etc/passwd")
    (source / "cai.zip").write_bytes(b"PK no zip")
    os.symlink("/etc/passwd", source / "dan.ipynb")
    made = collect.collect(source, to, "ps1", expected=[STEM], due=datetime(2026, 12, 1, tzinfo=timezone.utc))
    assert made.students == {"ann", "Bob Li"}
    kinds = sorted((kind, student) for kind, student, _ in made.told)
    assert kinds == [
        ("late", "ann"),
        ("name", "ann"),
        ("renamed", "Bob Li"),
        ("renamed", "ann"),
        ("twice", "Bob Li"),
        ("unreadable", "cai"),
    ]
    files = sorted(str(p.relative_to(to)) for p in to.rglob("*") if p.is_file())
    assert files == [f"submitted/{s}/ps1/{f}" for s, fs in (("Bob Li", [f"{STEM}.ipynb", "progress.jsonl", "timestamp.txt"]),
                     ("ann", [f"{STEM}.ipynb", "timestamp.txt"])) for f in fs]  # fmt: skip
    again = collect.collect(to, tmp_path / "again", "ps1", expected=[STEM])  # nbgrader's own layout
    assert again.files == 3 and [k for k, _, _ in again.told] == []


def test_two_learners_of_one_name_stay_two_and_nobody_is_forgotten(tmp_path):
    source = tmp_path / "in"
    for number, text in ((101, "her"), (102, "his")):
        (source / f"Li Wei_{number}_assignsubmission_file_").mkdir(parents=True)
        (source / f"Li Wei_{number}_assignsubmission_file_" / f"{STEM}.ipynb").write_bytes(book(text))
    (source / "王 小明_7_assignsubmission_file_").mkdir()
    (source / "王 小明_7_assignsubmission_file_" / f"{STEM}.ipynb").write_bytes(b"\xef\xbb\xbf" + book("x = 1"))
    (source / "eve" / f"{STEM}.ipynb").mkdir(parents=True)
    (source / "fay").mkdir()
    os.symlink("/etc/passwd", source / "fay" / f"{STEM}.ipynb")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as z:
        for path in sorted(source.rglob("*.ipynb")):
            if path.is_file() and not path.is_symlink():
                z.write(path, path.relative_to(source))
    for handed in (source, tmp_path / "all.zip"):
        made = collect.collect(handed, tmp_path / "to" / handed.stem, "ps1", expected=[STEM])
        assert made.students == {"Li Wei_101", "Li Wei_102", "王 小明"}
        told = [(kind, student) for kind, student, _ in made.told]
        assert told == ([("nothing", "eve"), ("nothing", "fay")] if handed == source else [])
    assert submission.answers(tmp_path / "to" / "all" / "submitted" / "王 小明" / "ps1" / f"{STEM}.ipynb") == {}


def test_a_withheld_hint_says_so_in_the_readers_language(course):
    to, made = course
    said = set()
    for name in made.exercises:
        spec = (to / "student" / "kernels" / load(name).op / "exercises" / name / "spec.toml").read_text(
            encoding="utf-8"
        )
        said |= {hint["zh"] for hint in release.tomllib.loads(spec)["hints"]}
    assert "请问老师。" in said and "Ask your teacher." not in said


def test_hidden_cases_find_written_in_results():
    """Ours passes them all; one that looks the shown cases up does not; known-wrong ones that pass nothing are no use."""
    spec = load("scale_spot")
    cases = hidden.derived("scale_spot", 77)
    assert len(cases) >= hidden.FEWEST
    shown = spec.function(spec.cases)(0, False)
    looked_up = {repr(c.args): c.expected for c in shown}
    assert hidden.wrong("scale_spot", 77, lambda c: looked_up.get(repr(c.args)))[0] == len(cases)
    from labkit.exercises import launch

    ours = launch.function(template(spec).join(template(spec).solution(), "ours").text, "ours", spec.entry)
    assert hidden.wrong("scale_spot", 77, lambda c: ours(*c.args))[0] == 0
    assert hidden.derived("scale_spot", 78) != cases and hidden.derived("scale_case", 77) == ()


@pytest.mark.parametrize("name", ["tune_prune", "gate_holm", "ill_real", "lie_detector"])
def test_a_right_submission_passes_hidden_cases_where_goldens_run_calls_it_by_value(name):
    """As a submission is graded: in a worker."""
    spec = load(name)
    assert way.way(spec) == "proxy" and hidden.derived(name, 77)
    worker = remote.Worker(way.start_of(spec))
    there = remote.Remote(lambda: worker)
    try:
        assert judge.examine(spec, template(spec).solution(), first_line=2, at=there).state == "PASS"
        assert hidden.wrong(name, 77, lambda case: there.run_function(spec, None, case))[0] == 0
    finally:
        there.close()


def test_hidden_cases_of_a_verdict_hold_as_many_of_each():
    """Whatever a table of the shown cases answers to what it does not hold, it is wrong on half of them."""
    cases = hidden.derived("gate_verdict", 77)
    assert len(cases) >= hidden.FEWEST and len({c.expected for c in cases}) > 1
    spec = load("gate_verdict")
    looked_up = {repr(c.args): c.expected for c in spec.function(spec.cases)(0, False)}
    for default in {c.expected for c in cases}:
        bad, count = hidden.wrong("gate_verdict", 77, lambda c: looked_up.get(repr(c.args), default))
        assert 2 * bad >= count
    from labkit.exercises import launch

    ours = launch.function(template(spec).join(template(spec).solution(), "ours").text, "ours", spec.entry)
    assert hidden.wrong("gate_verdict", 77, lambda c: ours(*c.args)) == (0, len(cases))


# Not assess_wait: whoever looks its values up has waited for them, which a case finds.
DRAWN = "assess_leaves bn_first bn_may lie_wait pass_take prec_tiles prof_top serve_pages".split()


@pytest.mark.parametrize("exercise", DRAWN)
def test_cases_drawn_by_the_seed_find_an_answer_to_the_shown_ones_alone(exercise):
    spec = load(exercise)
    cases = spec.function(spec.cases)
    shown = cases(0, False)
    drawn = cases(77, False)[len(shown) :]
    assert drawn and repr(cases(78, False)) != repr(cases(77, False))
    ours = template(spec)
    right = launch.function(ours.join(ours.solution(), exercise).text, exercise, spec.entry)
    asked = {}

    def passes(function, case) -> bool:
        got = launch.run_function(spec, function, case)
        return compare_values(got, case.expected, case.tolerance) is None

    def looked_at(*args):
        asked[key(args)] = args
        return right(*args)

    def of_the_first(*args):
        return right(*(args if key(args) in asked else next(iter(asked.values()))))

    def key(args) -> str:
        return re.sub(r" at 0x\w+", "", repr([(a, getattr(a, "__dict__", None)) for a in args]))

    assert all(passes(looked_at, c) for c in shown)
    assert all(passes(right, c) for c in drawn)
    assert all(passes(of_the_first, c) for c in shown) and not all(passes(of_the_first, c) for c in drawn)


@pytest.mark.skipif(confine.offers().level == "none", reason="nothing here confines")
def test_a_class_from_end_to_end(tmp_path):
    spec = load("scale_spot")
    shown = spec.function(spec.cases)(0, False)
    table = {repr(c.args): c.expected for c in shown}
    asked = "repr((sizes, rates, p99, limit) + (() if share == 0.9 else (share,)))"
    table_cell = f"spot = {table!r}.get({asked})"
    cells = {"ann": template(spec).solution(), "bob": table_cell}
    for student, cell in cells.items():
        folder = tmp_path / "submitted" / student / "ps1"
        folder.mkdir(parents=True)
        (folder / f"{STEM}.ipynb").write_bytes(book("%%exercise scale_spot\n" + cell))
    log = [
        {"time": 10.0 * k, "event": "check", "id": "scale_spot", "state": "FAIL", "diagnosis": "value"}
        for k in range(4)
    ]
    log += [
        {"time": 50.0, "event": "hint", "id": "scale_spot", "hint_level": 2},
        {"event": "hint", "id": 3},
        {"time": 51, "event": "hint", "id": "scale_spot", "hint_level": "x"},
    ]
    (folder / "progress.jsonl").write_text("\n".join(map(json.dumps, log)))
    assert all(load("scale_spot").function(spec.cases)(0, False)[0].args == c.args for c in shown[:1])
    grades = grade.grade(tmp_path, of_class=5)
    states = {g.student: (g.state, g.diagnosis) for g in grades if g.exercise == "scale_spot"}
    assert states == {"ann": ("PASS", ""), "bob": ("FAIL", "hard-coded")}
    grade.write(grades, tmp_path / "grades")
    made = report.lines(tmp_path / "grades", tmp_path)
    (bob,) = [x for x in made if x.student == "bob" and x.exercise == "scale_spot"]
    assert bob.spent == bob.minutes == round(51 / 60, 1)
    assert (bob.attempts, bob.hints, bob.stuck) == (4, 2, True) and bob.ask == guide.question("hard-coded")
    files = report.write(made, tmp_path / "report")
    page = files[1].read_text()
    assert "<script" not in page and "http" not in page and "✗" in page and "bob scale_spot FAIL hard-coded" in page


def test_time_is_spent_on_what_comes_next():
    """Reading counts for the exercise behind it; a pause, what a log begins with and what follows a PASS for none."""
    log = [("a", 0, "TODO"), ("b", 60, "TODO"), ("a", 360, "PASS"), ("b", 480, "FAIL"), ("a", 500, "PASS"),
           ("b", 9000, "FAIL"), ("b", 9060, "PASS"), (["odd"], 9070, "PASS")]  # fmt: skip
    log = [{"id": name, "time": at, "state": state} for name, at, state in log]
    assert report._spent(log) == {"b": (60 + 120 + 60) / 60, "a": 300 / 60}


def test_a_report_of_odd_names(tmp_path):
    """What a submission chose is text on the page, and no formula in the table."""
    made = [
        report.Line("<b>eve", "ps1", "x", "FAIL", "<i>", 5, 3, 2.0, True, "?"),
        report.Line("=cmd", "ps1", "x", "PASS"),
    ]
    files = report.write(made, tmp_path)
    assert "<b>" not in files[1].read_text() and "\n'=cmd," in files[0].read_text()


def test_the_guide_asks_in_both_languages():
    from labkit.exercises.spec import load_all

    assert guide.question("only-tail") != guide.question("no such diagnosis")
    for s in guide.symptoms():
        assert set(s.seen) == set(s.ask) == {"en", "zh"}
    keys = [k for s in guide.symptoms() for k in s.diagnosis]
    assert len(keys) == len(set(keys))
    counted = {m.noticed for s in load_all() for m in s.mutants}
    assert len(counted & set(keys)) > len(counted) / 2, "most diagnoses of known mistakes have a question of their own"


def test_no_run_carries_a_solution_of_ours_beside_a_students_code():
    """Functions named our_... compute what an exercise asks for: they belong to its cases, which stay with the teacher."""
    carried = {}
    for name in folders():
        spec = load(name)
        if spec.run and spec.golden_path.is_file():
            beside = helper.carried(spec.golden_path.read_text(encoding="utf-8"), spec.run)
            carried |= {name: ours for ours in [[n for n in beside if n.startswith("our_")]] if ours}
    assert not carried
