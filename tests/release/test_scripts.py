"""What the scripts that are started by hand say of a run that went wrong, or of a second one."""

from __future__ import annotations

import subprocess
import sys

import pytest
from places import REPO


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(REPO / "scripts"))
    return __import__


def test_a_wheel_of_an_earlier_build_is_not_named(script, monkeypatch, tmp_path, capsys):
    platform_wheel, plain = script("platform_wheel"), subprocess.run
    old, new = tmp_path / "labkit-0.1-py3-none-any.whl", tmp_path / "labkit-0.2-py3-none-any.whl"
    old.write_bytes(b"old")
    made, code = [], 1

    def run(command, **more):
        if command[0] != sys.executable:
            return plain(command, **more)
        for wheel in made:
            wheel.write_bytes(b"made now")
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(platform_wheel, "ROOT", REPO / "tests" / "release")  # a small tree to copy
    monkeypatch.setattr(platform_wheel.subprocess, "run", run)
    assert platform_wheel.main(["--out", str(tmp_path)]) == 1 and not capsys.readouterr().out
    made, code = [new], 0
    for _ in range(2):
        assert platform_wheel.main(["--out", str(tmp_path)]) == 0
        said = capsys.readouterr().out
        assert new.name in said and old.name not in said


def test_a_mutant_is_put_where_its_line_is_now(script):
    assert script("mutation").nearest([120, 303, 480], 300) == 303


def test_a_number_is_named_only_as_a_whole(script, monkeypatch, tmp_path):
    sentences = script("false_sentences")
    (tmp_path / "notebooks/01_a").mkdir(parents=True)
    (tmp_path / "notebooks/01_a/01.05_b.ipynb").write_text(
        '{"cells": [{"cell_type": "code", "id": "a", "outputs": [{"text": "12 us"}]}]}', encoding="utf-8"
    )
    monkeypatch.setattr(sentences, "REPO", tmp_path)
    prose = ["It takes 12 us."]
    assert sentences.unnamed("01.05", {"a": ["13"]}, prose, "now 128 bytes") == [("12", prose[0])]
    assert not sentences.unnamed("01.05", {"a": ["13"]}, prose, "It takes 12 us: 13")


def test_a_constant_that_is_not_there_is_named(script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["false_sentences.py", "--constant", "dma.none", "--list"])
    with pytest.raises(SystemExit):
        script("false_sentences").main()
    assert "dma.none" in capsys.readouterr().err
