"""Symptoms: each entry is whole in both languages, is found by its words, and names no command without a source."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from labkit import messages
from labkit.cli import app
from labkit.environment import troubleshooting


@pytest.mark.parametrize("lang", messages.LANGUAGES)
def test_entries_are_whole(lang):
    found = troubleshooting.troubles(lang)
    assert len(found) >= 7
    for trouble in found:
        assert trouble.what and trouble.why and trouble.mend and len(trouble.steps) >= 2, trouble.id
        for step in (*trouble.steps, *trouble.absent):
            assert step.run.strip() and step.source.strip(), (trouble.id, step)
        assert all(step.ask.strip() for step in trouble.steps), trouble.id


@pytest.mark.parametrize(
    "text, id",
    [
        ("RuntimeError: 507015 aicore exception", "log"),
        ("Permission denied: /dev/davinci0", "permission"),
        ("undefined symbol after the update", "versions"),
        ("how do I lock the clock?", "clock"),
        ("another user: the card is busy, times are unstable", "others"),
        ("the first call is slow, it compiles", "compile"),
        ("锁频", "clock"),
        ("ret507015", "log"),
        ("507035", "log"),
        ("ret507034", "log"),
        ("内存不足", "others"),
    ],
)
def test_a_symptom_finds_its_entry(text, id):
    assert troubleshooting.look_up(text)[0].id == id
    assert troubleshooting.look_up("nothing of the kind") == []


@pytest.mark.parametrize("text", ["it stopped", "a kernel of 8 blocks", "see the snapshot", "from the catalogue"])
def test_a_word_is_looked_for_from_its_beginning(text):
    assert troubleshooting.look_up(text) == []


def test_no_command_that_does_not_exist_is_recommended():
    commands = [step.run for trouble in troubleshooting.troubles() for step in trouble.steps]
    absent = [step.run for trouble in troubleshooting.troubles() for step in trouble.absent]
    assert "npu-smi -i 0 -f performance" in absent and not set(absent) & set(commands)
    subcommands = {"info"}  # of npu-smi: nothing here sets anything on a card
    assert {c.split()[1] for c in commands if c.startswith("npu-smi")} == subcommands


def test_the_command():
    run = CliRunner()
    found = run.invoke(app, ["doctor", "--symptom", "lock the clock"])
    assert found.exit_code == 0 and "npu-smi info -t common" in found.output and "does not exist" in found.output
    as_json = run.invoke(app, ["doctor", "--symptom", "507015", "--json"])
    assert json.loads(as_json.output)[0]["id"] == "log"
    none = run.invoke(app, ["doctor", "--symptom", "xyz"])
    assert none.exit_code == 1 and "permission" in none.output
