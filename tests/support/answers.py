"""Answers to exercises against a class's cases, without a notebook and without a search for the mistake."""

import pytest

from labkit.exercises import judge, launch, session
from labkit.exercises.diagnose import compare_values
from labkit.exercises.spec import load
from labkit.exercises.stub import template

SEED = 16


@pytest.fixture
def as_before(monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", "off")
    kept = session._current
    session.begin(TARGET="twin", SEED=SEED, STRICT=False)
    yield
    session._current = kept


def first_wrong(name: str, text: str, seed: int = SEED):
    """What is wrong in the first case that fails; its mistake is not looked for, which takes longer."""
    spec = load(name)
    if spec.kind != "python":
        made = judge.examine(spec, text)
        return None if made.state == "PASS" else made
    function = launch.function(template(spec).join(text.strip("\n"), name).text, name, spec.entry)
    for case in spec.function(spec.cases)(seed, False):
        found = compare_values(launch.run_function(spec, function, case), case.expected, case.tolerance)
        if found is not None:
            return found
    return None
