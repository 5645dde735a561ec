"""One notebook in its own process: its limit, its device, and nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from xml.etree import ElementTree

import pytest
from batches import gone, processes, written

from labkit.batch import job, plan, report

ENDLESS = """
import os, subprocess, time
subprocess.Popen(["sleep", "{mark}"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "{mark}"])
print("reached", flush=True)
open("{here}", "w").close()
while True:
    time.sleep(1)
"""


def job_of(file, **given) -> dict:
    return asdict(plan.plan([str(file)], given)[0])


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield folder
    monkeypatch.setattr("tempfile.tempdir", None)


def test_a_notebook_that_never_ends_is_ended_with_all_it_started(tmp_path, scratch):
    mark = f"7{os.getpid()}.25"
    file = written(tmp_path, "endless", ENDLESS.format(mark=mark, here=tmp_path / "here"))
    answer = job.run(job_of(file), None, timeout=8, cell_timeout=600)
    assert answer["result"]["ok"] is False and "Not finished after 8 s" in answer["result"]["error"]
    if (tmp_path / "here").is_file():  # not on a machine that needs longer to start a notebook's kernel
        assert "reached" in answer["notebook"] and "reached" in answer["page"], "what it printed is in the report"
    assert gone("sleep", mark) and not list(scratch.glob("labkit-batch-*"))


def test_when_the_worker_is_killed_all_goes_with_it(tmp_path, scratch):
    mark = f"7{os.getpid()}.5"
    file = written(tmp_path, "endless", ENDLESS.format(mark=mark, here=tmp_path / "here"))
    (tmp_path / "job.json").write_text(json.dumps(job_of(file)))
    worker = subprocess.Popen([
        sys.executable, "-c",
        "import json, sys; from labkit.batch import job; job.run(json.load(open(sys.argv[1])), None, 600, 600)",
        str(tmp_path / "job.json"),
    ])  # fmt: skip
    until = time.monotonic() + 60
    # counted, as the forked one bears the name of the notebook's kernel until it is replaced
    while len(processes("sleep", mark)) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(processes("sleep", mark)) == 2
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    assert gone("sleep", mark) and gone(str(scratch)), processes(str(scratch))
    assert not list(scratch.glob("labkit-batch-*"))


def test_parameters_language_and_chip_reach_the_notebook(tmp_path, scratch):
    text = 'import os\nprint(SEED, os.environ["LABKIT_LANG"], os.environ["LABKIT_CHIP"], os.getcwd())'
    file = written(tmp_path / "its own", "one", text)
    [made] = plan.plan([str(file)], {"SEED": "41"}, chip="910B3")
    answer = job.run(asdict(made), None, timeout=60, cell_timeout=60)
    assert answer["result"]["ok"], answer["result"]["error"]
    assert f"41 en 910B3 {tmp_path}/its own" in answer["notebook"]
    assert not list(scratch.glob("labkit-batch-*"))


def test_another_version_of_the_lab_is_refused(tmp_path):
    file = written(tmp_path, "one", "print(1)")
    answer = job.run(job_of(file) | {"lab": "older"}, None, 60, 60)
    assert not answer["result"]["ok"] and "another version of labkit" in answer["result"]["error"]


def test_one_notebook_a_device(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "4,6")
    taken, most, lock = [], [0], threading.Lock()
    held: set[int] = set()

    def use() -> None:
        with job._device([]) as device:
            with lock:
                assert device not in held
                held.add(device)
                most[0] = max(most[0], len(held))
                taken.append(device)
            time.sleep(0.05)
            with lock:
                held.discard(device)

    threads = [threading.Thread(target=use) for _ in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert set(taken) == {0, 1} and len(taken) == 6 and most[0] == 2
    names = {p.name.rpartition("-")[2] for p in (tmp_path / "batch").iterdir()}
    assert names == {"4.lock", "6.lock"}, "locks are by the driver's number"
    with job._device(None) as device:
        assert device is None


# ---- reports

RESULT = {
    "id": "01.01", "title": "t", "file": "f.ipynb", "minutes": 20, "ok": False, "seconds": 1.5, "host": "h", "device": None,
    "error": "cell 3: <ValueError>\x1b bad\nsecond", "slowest": [1.0, "x"],
    "exercises": [{"id": "a", "state": s, "diagnosis": "d", "target": "twin"} for s in ("PASS", "FAIL", "TODO", "SKIP")],
}  # fmt: skip


def test_junit_is_read_whatever_a_notebook_printed():
    """Half of a surrogate pair can be in no file, U+FFFE in no XML."""
    said = "ValueError: a\ud800b\ufffec\x1bd"
    text = report.junit([dict(RESULT, ok=False, error=said)])
    failure = ElementTree.fromstring(text.encode()).find(".//failure")
    assert failure.text == "ValueError: abcd"


def test_junit_counts_and_escapes():
    suite = ElementTree.fromstring(report.junit([RESULT])).find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "2", "2")
    assert suite.find("testcase/failure").get("message") == "cell 3: <ValueError> bad"


def test_progress_without_a_terminal_is_lines(capsys):
    with report.Progress(3, 1, sys.stderr) as progress:
        progress.ended(RESULT | {"ok": True, "error": ""})
        progress.ended(RESULT)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "2/3 01.01 ok, 1.5 s" and lines[1].startswith("3/3 01.01 FAILED") and "\r" not in "".join(lines)


def test_progress_on_a_terminal_is_a_bar(monkeypatch):
    """What failed stands above it, where it is not written over, and nothing of a notebook's error moves the cursor."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    reads, writes = os.openpty()
    with os.fdopen(writes, "w", encoding="utf-8") as terminal:
        with report.Progress(3, 1, terminal) as progress:
            progress.ended(RESULT | {"ok": True, "error": ""})
            progress.ended(RESULT)
    shown = b""
    with contextlib.suppress(OSError):  # at its end: a read may give less than what was written
        while part := os.read(reads, 1 << 16):
            shown += part
    os.close(reads)
    shown = shown.decode()
    assert "1/3" in shown and "3/3" in shown and "\u2501" in shown
    failed = [line for line in shown.splitlines() if "FAILED" in line]
    assert len(failed) == 1 and "3/3 01.01 FAILED, 1.5 s" in failed[0] and "01.01 ok" not in shown
    assert "<ValueError>" in shown and "\x1b bad" not in shown
