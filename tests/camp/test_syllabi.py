"""The plans hold with the notebooks as they are: every exercise is asked, no session is too full, minutes add up."""

import pytest

from labkit.camp import syllabi
from labkit.exercises.order import notebook_of
from labkit.exercises.spec import SpecError, load


@pytest.mark.parametrize("name", syllabi.names())
def test_a_plan_holds(name):
    plan = syllabi.syllabus(name)
    assert plan.fits and len(set(plan.exercises)) == len(plan.exercises)
    for session in plan.sessions:
        at = 0
        for part in session.parts:
            assert part.start == at and part.minutes >= sum(load(e).minutes for e in part.exercises)
            at += part.minutes
        assert at == session.minutes
    assert all(book in str(plan) for book in plan.notebooks) and notebook_of(plan.exercises[0]) == plan.notebooks[0]
    done = [notebook_of(e) for e in plan.exercises]
    assert done == sorted(done), "in the order of the workbook"


def test_a_plan_that_is_too_full_or_names_nothing_is_noticed(monkeypatch):
    table = [{"id": "full", "title": {"en": "x"}, "session": [{"minutes": 20, "parts": [{"do": ["look_repair"]}, {"rest": 15}]}]},
             {"id": "none", "title": {"en": "x"}, "session": [{"minutes": 20, "parts": [{"do": ["no_such"]}]}]}]  # fmt: skip
    monkeypatch.setattr(syllabi, "_table", lambda: table)
    assert not syllabi.syllabus("full").fits
    with pytest.raises(SpecError, match="no_such"):
        syllabi.syllabus("none")
    with pytest.raises(ValueError, match="full, none"):
        syllabi.syllabus("other")


def test_a_class_that_was_there_says_how_long_it_took(tmp_path):
    """The median of three learners or more who solved it, in place of the authors' minutes; two say nothing."""
    report = tmp_path / "report.csv"
    rows = [("look_repair", "PASS", m) for m in (4, 40, 6)] + [("look_result_pipe", "PASS", m) for m in (90, 91)]
    rows += [("look_repair", "FAIL", 500), ("look_repair", "PASS", "")]
    report.write_text("exercise,state,spent\n" + "".join(f"{e},{s},{m}\n" for e, s, m in rows))
    before, after = (syllabi.syllabus("90-minutes", *given) for given in ((), (report,)))
    k = next(i for i, p in enumerate(before.sessions[0].parts) if "look_repair" in p.exercises)
    one, other = before.sessions[0].parts[k], after.sessions[0].parts[k]
    share = syllabi._reading("00.01", ["look_repair"]) + load("look_repair").minutes
    assert abs((one.minutes - other.minutes) - (share - 6)) <= 1 and other.measured == 1 and one.measured == 0
    assert "1 of the " in str(after) and "1 of the " not in str(before)
    report.write_text("student\nx\n")
    with pytest.raises(ValueError, match="report.csv"):
        syllabi.syllabus("90-minutes", report)


def test_the_machines_seconds_are_those_of_the_table():
    plan = syllabi.syllabus("90-minutes")
    books = [tuple(dict.fromkeys(map(notebook_of, p.exercises))) for p in plan.sessions[0].parts]
    for part, numbers in zip(plan.sessions[0].parts, books):
        assert part.machine_s == sum(syllabi._seconds()[n] for n in numbers)
    assert sum(map(bool, books)) >= 3 and all(s > 0 for s in syllabi._seconds().values())
