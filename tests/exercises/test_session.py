"""The session that a notebook opens, and the cell magics. The fixtures' kernel runs on the twin."""

from __future__ import annotations

import importlib.machinery
import os

import pytest
from places import FIXTURES

import labkit
from labkit import messages
from labkit.exercises import session
from labkit.exercises.judge import forget
from labkit.exercises.spec import load
from labkit.exercises.stub import template

EXERCISES = FIXTURES / "kernels"


@pytest.fixture(autouse=True)
def room(tmp_path, monkeypatch):
    """The fixture exercises and a log of their own; what setup() writes into the environment goes again."""
    for name in ("LABKIT_TARGET", "LABKIT_STRICT", "LABKIT_DEVICE"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # so that the value of before is known
        if not os.environ[name]:
            monkeypatch.delenv(name)
    monkeypatch.setenv("LABKIT_KERNELS", str(EXERCISES))
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "progress.jsonl"))
    monkeypatch.setattr(session, "_current", None)
    forget("fx_share")


def ours(name: str):
    return template(load(name))


def test_session_is_validated(monkeypatch):
    for wrong in ({"TARGET": "gpu"}, {"SEED": "3"}, {"STRICT": 1}, {"DEVICE": -1}, {"DEVICE": True}, {"BACKEND": "x"}):
        with pytest.raises(ValueError) as error:
            session.validate(wrong)
        assert next(iter(wrong)) in str(error.value)
    with pytest.raises(ValueError, match="auto, twin, npu"):
        labkit.setup(TARGET="cuda")


def test_session_says_what_it_is(monkeypatch):
    monkeypatch.setattr(session, "_install", lambda: None)
    for name in ("LABKIT_TARGET", "LABKIT_STRICT", "LABKIT_DEVICE"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("LABKIT_SEED", "100")
    made = labkit.setup(SEED=5, STRICT=True)
    assert made.target == "twin" and made.seed == 105 and os.environ["LABKIT_STRICT"] and session.current() is made
    assert "twin" in repr(made) and "910B1" in repr(made) and "modelled" in repr(made) and "strict" in repr(made)
    labkit.setup()
    assert not os.environ.get("LABKIT_STRICT")
    monkeypatch.setattr(session, "npu", lambda: (False, "no card"))
    lost = labkit.setup(TARGET="npu")
    assert lost.reason == "no card" and "SKIP" in repr(lost)
    assert labkit.setup().target == "twin", "the cell before asked for the npu, not the environment"
    monkeypatch.setenv("LABKIT_STRICT", "1")
    labkit.setup(STRICT=True)
    assert labkit.setup().strict, "the environment's own"


def test_a_seed_that_is_none(monkeypatch):
    monkeypatch.setenv("LABKIT_SEED", "many")
    with pytest.raises(ValueError, match="LABKIT_SEED is many"):
        labkit.setup()
    monkeypatch.delenv("LABKIT_SEED")
    with pytest.raises(ValueError, match="SEED is 2"):
        labkit.setup(SEED=2 * 10**30)


def test_the_first_device_again(monkeypatch):
    torch = pytest.importorskip("torch")
    chosen = []
    monkeypatch.setattr(torch.npu, "set_device", chosen.append)
    for number in (0, 1, 1, 0):
        labkit.setup(DEVICE=number)
    assert chosen == [1, 0]


def test_the_simulated_torch_npu_is_not_an_installed_one():
    pytest.importorskip("torch")
    labkit.setup()
    assert importlib.machinery.PathFinder.find_spec("torch_npu") or "not installed" in session.npu()[1]


@pytest.fixture
def shell():
    from IPython.core.interactiveshell import InteractiveShell

    from labkit.notebook import magics

    made = InteractiveShell.instance()
    assert magics.register()
    yield made
    InteractiveShell.clear_instance()


KERNEL = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void nothing(GM_ADDR x) { }
"""


def test_magics(shell, capsys):
    assert shell.run_cell_magic("exercise", "fx_share", ours("fx_share").solution() + "\n").passed
    for bad in ("", "fx_share again"):
        with pytest.raises(ValueError, match="one exercise id"):
            shell.run_cell_magic("exercise", bad, "x\n")
    with pytest.raises(ValueError, match="arguments"):
        shell.run_cell_magic("ascendc", "", "x\n")
    with pytest.raises(ValueError, match="Python name"):
        shell.run_cell_magic("ascendc", "1st", "x\n")


def test_ascendc_builds_and_binds(shell, capsys):
    shell.run_cell_magic("ascendc", "nothing --blocks 2", KERNEL)
    assert "nothing" in shell.user_ns and callable(shell.user_ns["nothing"])
    with pytest.raises(labkit.CompileError) as error:
        shell.run_cell_magic("ascendc", "broken", KERNEL.replace("{ }", "{ oops; }"))
    assert error.value.problems[0]["line"] == 4, "the magic's own line is line 1"
    shell.run_cell_magic("ascendc", "broken --expect compile", KERNEL.replace("{ }", "{ oops; }"))
    assert "oops" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="compiles"):
        shell.run_cell_magic("ascendc", "nothing --expect compile", KERNEL)


def test_public_names_are_callable_however_they_were_imported():
    assert (
        callable(labkit.exercise)
        and callable(labkit.check)
        and callable(labkit.predict)
        and callable(labkit.hint)
        and callable(labkit.progress)
    )
    assert labkit.exercise("fx_share").id == "fx_share"
    assert messages.text("exercise.todo") != messages.text("exercise.todo", lang="zh")
