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
