"""The command from end to end: killed, resumed, a notebook changed in between; and the table of measured times."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from batches import fake_work, gone, processes, written
from typer.testing import CliRunner

pytest.importorskip("distributed")

from labkit import cli
from labkit.batch import measured, run, schedule
from labkit.exercises import launch
from labkit.exercises.spec import load, load_all
from labkit.exercises.stub import template


def batch(*words: str, **options) -> list[str]:
    return [sys.executable, "-m", "labkit", "batch", *words]


def test_killed_in_the_middle_it_goes_on_and_loses_nothing(tmp_path):
    files = [written(tmp_path / "in", f"n{i}", f"print({i})\nimport time; time.sleep({4 * i})") for i in range(2)]
    words = batch(*map(str, files), "--out", str(tmp_path / "out"), "--workers", "1")
    scratch = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    first = subprocess.Popen(words, env=scratch, stderr=subprocess.DEVNULL)
    entry, notebook = tmp_path / "out/.batch/n0.json", tmp_path / "out/n0.ipynb"
    until = time.monotonic() + 120
    while not entry.is_file() and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert gone(str(tmp_path / "tmp")), processes(str(tmp_path / "tmp"))
    kept = notebook.stat().st_mtime_ns
    assert not (tmp_path / "out/.batch/n1.json").exists()

    done = subprocess.run(words, env=scratch, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "1 of 2 notebooks is done already" in done.stderr and "2/2 n1 ok" in done.stderr
    assert notebook.stat().st_mtime_ns == kept, "n0 was run again"
    assert "2 of 2" in done.stdout and (tmp_path / "out/n1.ipynb").is_file()


def test_only_what_changed_or_failed_is_run_again(tmp_path, capsys):
    files = [str(written(tmp_path, f"n{i}", f"print({i})")) for i in range(4)]
    log = tmp_path / "log"

    def go(**more) -> tuple[int, list[str]]:
        log.write_text("")
        code = run.run(files, {}, tmp_path / "out", schedule.Place(workers=1), work=fake_work, **more)
        return code, sorted(line.split()[0] for line in log.read_text().splitlines())

    def stop(_client):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(started=stop)
    code, ran = go()
    assert (
        code == 0 and len(ran) >= 1 and {p.stem for p in (tmp_path / "out").glob("*.ipynb")} == {"n0", "n1", "n2", "n3"}
    )
    assert go() == (0, [])
    written(tmp_path, "n2", "print('another text')")
    assert go() == (0, ["n2"])
    failed = tmp_path / "out/.batch/n3.json"
    failed.write_text(failed.read_text().replace('"ok": true', '"ok": false'))
    assert go() == (1, []), "a failure stays one until it is asked for again"
    assert go(again="failed") == (0, ["n3"])
    results = json.loads((tmp_path / "out/result.json").read_text())
    assert [(r["id"], r["ok"]) for r in results] == [(f"n{i}", True) for i in range(4)]
    assert (tmp_path / "out/junit.xml").is_file() and "4 of 4" in (tmp_path / "out/index.html").read_text()


@pytest.mark.parametrize(
    "words, said",
    [
        (["01.01", "-p", "SEDE=1"], "has no parameter SEDE"),
        (["01.01", "--target", "gpu"], "must be one of auto, twin, npu"),
        (["01.01", "--chip", "910Z"], "there are tables for"),
        (["01.01", "-p", "SEED"], "is not NAME=VALUE"),
        (["01.01", "--resources", "npu"], "is not NAME=AMOUNT"),
        (["01.01", "--timeout", "0"], "--timeout is 0"),
        (["01.01", "--again", "some"], "must be failed or all"),
        (["nothing.ipynb"], "there is no such notebook"),
    ],
)
def test_a_wrong_call_says_so_and_runs_nothing(words, said, tmp_path):
    done = CliRunner().invoke(cli.app, ["batch", *words, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and said in done.output, done.output
    assert not list(tmp_path.rglob("*.ipynb"))


# ---- modelled beside measured


def test_each_kernel_of_the_workbook_has_a_row(tmp_path):
    """All are listed; one is launched, by name, on its largest case and with an empty L2."""
    there = {name for name in measured.cases("910B1") if name.startswith("kernel/")}
    assert there == {f"kernel/{s.id}" for s in load_all() if s.kind == "kernel"} and len(there) > 30
    made = measured.make(tmp_path / "m.csv", only=["kernel/add_compute"], clock=lambda case, us: us * 2)
    assert [(r.case, r.group, r.kind) for r in made] == [("kernel/add_compute", "kernel", "stand-in")]
    spec = load("add_compute")
    case = max(spec.function(spec.cases)(0, False), key=lambda c: c.args[0].numel())
    kernel = launch.build("\n".join(template(spec).lines), "exercise add_compute", spec.entry)
    kernel.l2 = "cold"
    assert made[0].modelled_us == launch.run_kernel(spec, kernel, case)[1].time_us


def test_without_a_card_nothing_is_called_measured(tmp_path, capsys):
    assert measured.make(tmp_path / "m.csv") == [] and not (tmp_path / "m.csv").exists()
    assert "Nothing was measured" in capsys.readouterr().err


def test_a_kernel_that_fails_costs_its_own_row_only(tmp_path, monkeypatch, capsys):
    def fails():
        raise RuntimeError("507035, vector core exception\nand more")

    monkeypatch.setattr(measured, "cases", lambda chip: {"a": lambda: 2.0, "b": fails, "c": lambda: 3.0})
    told = measured.times("twin", [])
    assert told["times"] == {"a": [2.0], "c": [3.0]}
    assert told["failed"] == {"b": "RuntimeError: 507035, vector core exception"}
    monkeypatch.setattr(measured, "_ask", lambda *_: told)
    assert [r.case for r in measured.make(tmp_path / "m.csv", clock=lambda case, us: us)] == ["a", "c"]
    assert "b has no row: RuntimeError: 507035" in capsys.readouterr().err


def test_a_stand_ins_rows_say_so_and_come_back(tmp_path, capsys):
    made = measured.make(tmp_path / "m.csv", only=["launch/1/", "launch/12/"], clock=lambda case, us: us * 1.25)
    assert made and all(r.kind == "stand-in" and abs(r.error + 0.2) < 1e-5 for r in made)
    assert "stand-in" in capsys.readouterr().out
    back = measured.read(tmp_path)
    assert [r.case for r in back] == [r.case for r in made]
    shown = CliRunner().invoke(cli.app, ["clock", "measured", str(tmp_path / "m.csv")]).output
    assert "median error 20.0 % (a stand-in for a card: no measurement)" in shown and "\nmeasured:" not in shown


@pytest.mark.parametrize("text", ["case,us\na,1\n", "nothing\n1\n"])
def test_another_table_is_refused(tmp_path, text):
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(ValueError, match="m.csv:2: not a row of"):
        measured.read(tmp_path)


@pytest.mark.parametrize("card, chip", [("Ascend910B3", "910B3"), ("Ascend910_9362", "910B1"), ("", "910B1")])
def test_the_chip_of_a_card(card, chip):
    assert measured.chip_of(card) == chip
