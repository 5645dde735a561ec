"""The workbook in a folder of one's own; running any notebook file; the commands next and watch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time

import nbformat
import pytest
from places import REPO
from typer.testing import CliRunner

from labkit.cli import app
from labkit.notebook import run
from labkit.notebook.work_copy import RECORD, lay_out

LESSON = "00_start/00.01_first_look.ipynb"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A workbook of two notebooks, and a place for JupyterLab's signatures."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    home = tmp_path / "notebooks"
    for name in (LESSON, "01_kernels/01.01_first_kernel.ipynb"):
        (home / name).parent.mkdir(parents=True)
        shutil.copy(REPO / "notebooks" / name, home / name)
        source = home / "source" / (name.split("/")[1].removesuffix(".ipynb") + ".md")
        source.parent.mkdir(exist_ok=True)
        shutil.copy(REPO / "notebooks" / "source" / source.name, source)
    return home


def test_laid_out_trusted_and_never_overwritten(home, tmp_path):
    folder = tmp_path / "mine"
    assert len(lay_out(folder, home=home).written) == 2
    mine, ours = folder / LESSON, home / LESSON
    assert nbformat.sign.NotebookNotary().check_signature(nbformat.read(mine, 4))
    assert json.loads((folder / RECORD).read_text()).keys() == {LESSON, "01_kernels/01.01_first_kernel.ipynb"}

    mine.write_text(mine.read_text().replace("minutes", "MINUTES", 1))
    again = lay_out(folder, home=home)
    assert again.kept == [LESSON] and "MINUTES" in mine.read_text() and not again.beside

    ours.write_text(ours.read_text().replace("import labkit", "import labkit  # newer", 1))
    newer = lay_out(folder, home=home)
    assert newer.beside == [LESSON] and "MINUTES" in mine.read_text() and "newer" not in mine.read_text()
    assert "newer" in (folder / LESSON.replace(".ipynb", ".new.ipynb")).read_text()
    assert any(".new.ipynb" in line for line in newer.lines(folder))

    untouched = folder / "01_kernels/01.01_first_kernel.ipynb"
    other = home / "01_kernels/01.01_first_kernel.ipynb"
    other.write_text(other.read_text().replace("import labkit", "import labkit  # newer", 1))
    assert "01_kernels/01.01_first_kernel.ipynb" in lay_out(folder, home=home).written
    assert "newer" in untouched.read_text()


def test_in_chinese(home, tmp_path):
    lay_out(tmp_path / "zh", "zh", home)
    text = (tmp_path / "zh" / LESSON).read_text()
    assert 'LABKIT_LANG\\"] = \\"zh\\"' in text and "分钟" in text
    told = CliRunner().invoke(app, ["notebooks", str(tmp_path / "x"), "--lang", "fr"])
    assert told.exit_code and "'fr'" in str(told.exception or told.output)


def test_a_file_is_run_and_not_the_workbooks_own(tmp_path, monkeypatch):
    for who, answer in (("anna", '"anna was here"'), ("ben", '"ben was here"')):
        (tmp_path / who).mkdir()
        cell = nbformat.v4.new_code_cell(f"print({answer})")
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / who / "01.01_first_kernel.ipynb")
    files = [str(tmp_path / who / "01.01_first_kernel.ipynb") for who in ("anna", "ben")]
    assert run.main([*files, "--out", str(tmp_path / "out"), "--no-html"]) == 0
    done = json.loads((tmp_path / "out" / "result.json").read_text())
    assert [o["id"] for o in done] == ["01.01_first_kernel", "ben-01.01_first_kernel"]
    for who, outcome in zip(("anna", "ben"), done):
        assert f"{who} was here" in (tmp_path / "out" / outcome["file"]).read_text()


def test_a_file_that_is_none(tmp_path, capsys):
    assert run.main([str(tmp_path / "no.ipynb"), "--out", str(tmp_path / "out")]) == 2
    assert "there is no such notebook" in capsys.readouterr().err
    (tmp_path / "text.ipynb").write_text("hello")
    assert run.main([str(tmp_path / "text.ipynb"), "--out", str(tmp_path / "out")]) == 2
    assert "not a notebook" in capsys.readouterr().err


def test_next_goes_by_the_notebooks(tmp_path, monkeypatch):
    log = tmp_path / "progress.jsonl"
    monkeypatch.setenv("LABKIT_PROGRESS", str(log))
    first = CliRunner().invoke(app, ["next"]).output.split(":")[0]
    log.write_text(json.dumps({"event": "check", "id": first, "state": "PASS", "time": 1}) + "\n")
    second = CliRunner().invoke(app, ["next"]).output.split(":")[0]
    assert first == "look_result_pipe" and second not in ("", first)


def test_watch_checks_at_each_save_and_ends_with_pass(tmp_path):
    file = tmp_path / "mine.py"
    env = {**os.environ, "LABKIT_PROGRESS": "off"}
    command = [sys.executable, "-m", "labkit", "watch", "compile_pick", str(file), "--every", "0.05"]
    watching = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env, cwd=REPO)
    try:
        told = [watching.stdout.readline() for _ in range(2)]
        assert "Watching" in told[0] and "TODO" in told[1] and file.is_file()
        from labkit.exercises.spec import load
        from labkit.exercises.stub import template

        time.sleep(0.1)
        file.write_text(template(load("compile_pick")).solution())
        rest, _ = watching.communicate(timeout=120)
        assert "PASS" in rest and watching.returncode == 0
    finally:
        watching.kill()
