"""Grades of real submissions: confined, and the same verdicts as in a notebook."""

import csv
import importlib.util
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from drawn import one_in

from labkit.camp import asked, confine, grade, helper, remote
from labkit.camp import way as ways
from labkit.exercises import diagnose, judge, launch, operators, session
from labkit.exercises.spec import load, load_all
from labkit.exercises.stub import template

REPO = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    confine.offers().level == "none", reason=f"nothing here confines: {confine.offers().missing}"
)


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", "off")
    kept = session._current
    yield
    session._current = kept


GRADED = [spec.id for spec in load_all() if spec.kind != "predict"]


def verdict(spec, cell):
    there = remote.Remote(lambda: remote.Worker(ways.start_of(spec)))
    try:
        return judge.examine(spec, cell, at=there), there.how
    finally:
        there.close()


# one of each way: arguments by value; run here by proxy; run there; a kernel; a program; an operator in Python
@pytest.mark.parametrize(
    "name, way",
    [("scale_law", "value"), ("rank_slow", "proxy"), ("bn_may", "helper"), ("tail_split", "value"), ("mix_halves", "proxy"),
     ("launch_tiling", "value"), ("reg_meta", "value")],
)  # fmt: skip
def test_the_verdict_is_the_notebooks_own(name, way):
    spec = load(name)
    ours = template(spec)
    got, how = verdict(spec, ours.solution())
    assert (got.state, how) == ("PASS", way), got
    wrong = ours.mutant(spec.mutants[0].regions)
    assert str(verdict(spec, wrong)[0]) == str(judge.examine(spec, wrong))


@pytest.mark.parametrize("name", ["rank_overlap", "many_plan", "rank_case_repair"])
def test_ours_passes_where_run_stands_in_the_worker_without_what_is_expected(name):
    """As a class is graded: golden.py's run has of case.expected the words alone, its numbers and tensors are None."""
    spec = load(name)
    assert ways.way(spec) == "helper" and spec.on_device
    session.begin(TARGET="twin", SEED=16, STRICT=False)
    ours = template(spec)
    function = launch.function(ours.join(ours.solution(), name).text, name, spec.entry)
    for case in spec.function(spec.cases)(16, True):
        there = replace(case, expected=asked.statements(case))
        assert not diagnose.compare_values(launch.run_function(spec, function, there), case.expected, case.tolerance)


# whoever includes a file of the exercise's folder, and a part of all others in turn: LABKIT_DRAWN=all takes each
FOLDERS = ["reg_bind", "reg_checks", "reg_case_repair"]


@pytest.mark.parametrize(
    "name", FOLDERS + [n for n in GRADED if n not in FOLDERS and one_in(24, n, [REPO / "labkit" / "camp"])]
)
def test_our_own_solution_passes_a_grade(name):
    spec = load(name)
    got, _ = verdict(spec, template(spec).solution())
    assert got.state == "PASS", got


def test_an_exercise_that_is_built_more_than_once_takes_one_worker():
    """What an exercise asks for may be looked at by building changed copies."""
    spec, taken = load("look_repair"), []
    there = remote.Remote(lambda: taken.append(remote.Worker(ways.start_of(spec))) or taken[-1])
    try:
        assert judge.examine(spec, template(spec).solution(), at=there).state == "PASS"
    finally:
        there.close()
    assert len(taken) == 1 and taken[0].confined.process.poll() is not None


def test_code_that_keeps_pythons_lock_is_ended_after_the_learners_time(monkeypatch):
    """The worker's own watch never gets to look: no beats come but the first, perhaps before the grader listens."""
    send = remote.Worker._send
    monkeypatch.setattr(remote.Worker, "_send", lambda *given: (send(*given), time.sleep(0.3)))
    spec = load("scale_law")
    worker = remote.Worker(ways.start_of(spec), remote.Budget(cpu_s=1.0))
    there = remote.Remote(lambda: worker)
    try:
        got = judge.examine(spec, "import re; re.match('(a*)*b', 'a' * 60)\n" + template(spec).solution(), at=there)
    finally:
        there.close()
    assert got.state == "FAIL" and got.diagnosis == "took-too-long", got
    assert 1.0 < worker.confined.cpu_s < 10, "processor time of all, with its start"


def test_one_that_needs_ranks_is_graded_in_a_worker():
    assert verdict(load("rank_overlap"), template(load("rank_overlap")).solution())[0].state == "PASS"


@pytest.mark.parametrize(
    "text, start", [("from torch import nn", "torch"), ("import torch.nn as nn", "torch"), ("", "")]
)
def test_a_worker_has_torch_before_the_time_of_a_submission_runs(tmp_path, text, start):
    (tmp_path / "golden.py").write_text("import torch\n\n\ndef cases(seed, full):\n    return []\n")
    (tmp_path / "solution.py").write_text(f"{text}\n\n\ndef made():\n    return 1\n")
    spec = SimpleNamespace(id=f"mine_{start}", kind="python", run="", cases="cases", on_device=False, is_kernel=False,
                           golden_path=tmp_path / "golden.py", solution_path=tmp_path / "solution.py")  # fmt: skip
    assert ways.start_of(spec) == start


def test_what_stays_out_of_the_worker():
    names = {f.name for f in remote.public_files()}
    assert not names & {"golden.py", "mutants.toml", "exercises"} and {"add.asc", "rows_torch.h"} <= names
    golden = load("bn_may").golden_path.read_text(encoding="utf-8")
    alone = helper.alone(golden, load("bn_may").run)
    assert "expected" not in alone and len(alone) < len(golden) / 2 and "def run_may" in alone
    assert "run_may" not in helper.carried(golden, "run_may")
    by_name = (
        "def a(): return 1\n\ndef b(): return 2\n\ndef run(f): return globals()[f]()\n\ndef cases(): return ['a']\n"
    )
    assert helper.carried(by_name, "run") == ["a"], "what a run looks up by the name that a case gives it"


def test_a_kernel_that_asks_for_the_host_is_not_built():
    spec = load("tail_split")
    cell = 'int labkit_q(int) __asm__("quick_exit"); labkit_q(0);\n' + template(spec).solution()
    result, _ = verdict(spec, cell)
    assert result.state == "FAIL" and "quick_exit" in str(result)


def test_a_golden_in_the_callers_memory_is_compared_here():
    """A submission that says that everything is equal is not believed."""
    spec = load("scale_law")
    cell = "import labkit.exercises.diagnose as d\nd.compare_values = lambda *a, **k: None\nreturn 0"
    assert verdict(spec, cell)[0].state == "FAIL"


def test_a_submission_never_runs_in_the_judges_process():
    """Nor does naming its mistake run it: only our own solutions and variations of them are run there."""
    spec = load("scale_law")
    wrong = template(spec).mutant(spec.mutants[0].regions)
    marked = "import sys\nsys.modules['labkit_ran_here'] = sys\n"
    assert verdict(spec, marked + wrong)[0].state == "FAIL"
    assert "labkit_ran_here" not in sys.modules


@pytest.mark.parametrize(
    "name, right, wrong",
    [("scale_law", "(1 + contention", "(17 + contention"), ("reg_meta", "x.shape[-1] // 2", "x.shape[-1] // 17")],
)
def test_nor_does_a_changed_copy_of_it(name, right, wrong, monkeypatch):
    """Of a mistake that nobody knows the answer itself is tried with changes: with `os._exit(1)` for `os._exit(0)` it
    ended the grader. That is for the notebook's own process.
    """
    spec, seen = load(name), []
    cell = template(spec).solution().replace(right, wrong)
    for module, call in ((launch, "function"), (operators, "build")):
        real = getattr(module, call)
        monkeypatch.setattr(module, call, lambda text, *a, real=real, **k: seen.append(text) or real(text, *a, **k))
    assert verdict(spec, cell)[0].state == "FAIL"
    assert [text for text in seen if "17" in text] == []


def test_a_worker_compiles_nothing_of_the_labs(tmp_path):
    """What the lab has built is there under the keys that a worker's own cache asks for, as an operator that a golden.py
    calls: building it cost 8 CPU s for each submission. Two processes: a test before this one may have set a cache.
    """
    prepared = """
import json
from labkit.build import runtime
from labkit.camp import remote
entries = [str(p) for p in remote.prepared()]
print(json.dumps([entries, [str(runtime.library()), str(runtime.runner())]]))
"""
    worker = """
import json, sys
from pathlib import Path
from labkit.build import compiler, runtime
from labkit.camp import remote, worker
entries, built = json.loads(sys.argv[1])
worker._adopt(entries)
library, runner = map(Path, built)
runtime.library, runtime.runner = lambda: library, lambda: runner
def step(workers, command, recipe): raise AssertionError(recipe.name)
compiler.step = step
from labkit import device
from labkit.operators.registration import register
device.install()
print([register(source).names for source in remote._CALLED])
"""

    def said(code: str, *words: str, **more: str) -> str:
        run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=600,
                             check=False, env={**os.environ, **more})  # fmt: skip
        assert run.returncode == 0, run.stderr[-2000:]
        return run.stdout.splitlines()[-1]

    assert "lab::swiglu" in said(worker, said(prepared), LABKIT_CACHE=str(tmp_path / "cache"))


def test_a_folder_of_submissions(tmp_path):
    cells = {
        "ann": [
            "%%exercise scale_law\n" + template(load("scale_law")).solution(),
            "labkit.predict('scale_case', 'pageable')",
        ],
        "bob": [
            "%%exercise scale_law\nimport os; os._exit(0)",
            "labkit.predict('scale_case', open('x'))",
            "%%exercise none\n1",
        ],
        "=cmd": ["labkit.predict('scale_law', 1)", "%%exercise scale_case\n1"],
    }
    for student, sources in cells.items():
        path = tmp_path / "submitted" / student / "ps1" / "drawn.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": s} for s in sources]}))
    grades = grade.grade(tmp_path, seed=3)
    assert {(g.student, g.exercise): (g.state, g.points) for g in grades} == {
        ("ann", "scale_law"): ("PASS", 1.0), ("ann", "scale_case"): ("PASS", 1.0), ("bob", "scale_law"): ("FAIL", 0.0),
        ("bob", "scale_case"): ("FAIL", 0.0), ("bob", "none"): ("FAIL", 0.0), ("=cmd", "scale_law"): ("FAIL", 0.0),
        ("=cmd", "scale_case"): ("FAIL", 0.0),
    }  # fmt: skip
    assert all(g.isolation == str(confine.offers()) for g in grades)
    files = grade.write(grades, tmp_path / "out")
    assert [f.name for f in files] == ["grades.json", "grades.csv", "nbgrader.csv"]
    rows = {r["student_id"]: (r["assignment"], r["score"], r["max_score"]) for r in csv.DictReader(open(files[2]))}
    assert rows == {"ann": ("ps1", "2.0", "2.0"), "bob": ("ps1", "0.0", "3.0"), "'=cmd": ("ps1", "0.0", "2.0")}


def test_what_was_not_handed_in_is_missing(tmp_path):
    (tmp_path / "06.09_scaling.ipynb").write_text('{"cells": []}')
    grades = grade.grade(tmp_path)
    assert {g.state for g in grades} == {"MISSING"} and "scale_law" in {g.exercise for g in grades}


def test_it_refuses_where_nothing_confines(tmp_path, monkeypatch):
    monkeypatch.setattr(confine, "offers", lambda: confine.Offers("none", missing=("no kernel for it",)))
    with pytest.raises(grade.NotIsolated, match="no kernel for it"):
        grade.grade(tmp_path)


def test_an_exception_here_is_the_submissions_where_our_own_solution_has_none(tmp_path, monkeypatch):
    """ERROR, "a person must look", is for faults of ours: a submission must not be able to make one."""
    spec = load("scale_law")
    wrong = template(spec).mutant(spec.mutants[0].regions)
    path = tmp_path / "ann.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": "%%exercise scale_law\n" + wrong}]}))
    examine = judge.examine

    def only_theirs(spec, source, *rest, **named):
        if source == wrong:
            raise TypeError("unhashable")
        return examine(spec, source, *rest, **named)

    monkeypatch.setattr(grade, "_passing", set())
    monkeypatch.setattr(judge, "examine", lambda *a, **k: 1 / 0)
    assert grade.grade(tmp_path)[0].state == "ERROR"
    monkeypatch.setattr(judge, "examine", only_theirs)  # what failed has passed: no earlier answer stands
    made = grade.grade(tmp_path)[0]
    assert (made.state, made.diagnosis) == ("FAIL", "odd-value") and "unhashable" in made.lines[0]


def test_a_drawn_part_of_the_trial():
    """Attacks of every family that needs no device; scripts/camp_trial.py makes all 300."""
    spec = importlib.util.spec_from_file_location("camp_trial", REPO / "scripts" / "camp_trial.py")
    trial = importlib.util.module_from_spec(spec)
    sys.modules["camp_trial"] = trial
    spec.loader.exec_module(trial)
    every = [
        s for s in trial.specs.load_all() if s.kind == "predict" or s.kind == "python" and not s.run and not s.on_device
    ]
    original, trial.specs.load_all = trial.specs.load_all, lambda: every
    try:
        drawn, grades, wrong = trial.trial(25, 7)
    finally:
        trial.specs.load_all = original
    assert {d.family for d in drawn} == {"right", "wrong", "value", *trial.PYTHON}
    assert [(d.family, d.exercise, g.state, g.lines) for d, g in zip(drawn, grades) if g.state not in d.must] == []
    assert wrong == [] and "LABKIT_CAMP_TRIAL_SECRET" not in os.environ
