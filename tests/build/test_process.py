"""Child processes of a build: what they may take, and what is said where it is not enough."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from places import REPO

from labkit.build import process
from labkit.build.diagnostics import compile_error


def test_a_compiler_gets_a_part_of_the_memory():
    code = f"held = bytearray({process.MOST_KIB << 10})"
    status, said = process.Workers().run([sys.executable, "-c", code], timeout=60)
    assert status != 0 and "MemoryError" in said
    assert process.Workers().run([sys.executable, "-c", "held = bytearray(64 << 20)"], timeout=60) == (0, "")


def test_its_limits_are_those_of_its_children_too():
    code = (
        "import subprocess; print(subprocess.run(['sh', '-c', 'ulimit -v; ulimit -t'], capture_output=True, text=True)"
    )
    status, said = process.Workers().run(
        [sys.executable, "-c", f"import sys; {code}.stdout, file=sys.stderr)"], timeout=60
    )
    assert status == 0 and said.split() == [str(process.MOST_KIB), str(process._MOST_S)]


BUILDS = """
import sys
from labkit.build import process
compiler = "import subprocess, sys; subprocess.run(['sleep', sys.argv[1]])"
process.Workers().run([sys.executable, "-c", compiler, sys.argv[1]], timeout=60)
"""


def running(words: str) -> list[str]:
    """Processes that have these words in their command and have not ended."""
    every = subprocess.run(["ps", "-eo", "stat,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in every.splitlines() if words in line and not line.startswith("Z")]


def test_it_ends_with_a_program_that_is_killed(tmp_path):
    """A compiler's own children too; and of one that ended by itself nothing is left."""
    wait = f"54.{os.getpid()}"
    parent = subprocess.Popen([sys.executable, "-c", BUILDS, wait], env={**os.environ, "PYTHONPATH": str(REPO)})
    until = time.monotonic() + 60
    while len(running(f"sleep {wait}")) < 1 and time.monotonic() < until:
        time.sleep(0.02)
    assert running(f"sleep {wait}")
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    until = time.monotonic() + 20
    while running(wait) and time.monotonic() < until:
        time.sleep(0.02)
    assert not running(wait)
    short = f"0.{os.getpid()}"
    subprocess.run([sys.executable, "-c", BUILDS, short], env={**os.environ, "PYTHONPATH": str(REPO)}, check=True)
    assert not running(short)


def test_how_it_ended():
    for code, status in (("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 11)", -11)):
        assert process.Workers().run([sys.executable, "-c", code], timeout=60)[0] == status
    with pytest.raises(process.TooSlow):
        process.Workers().run([sys.executable, "-c", "import time; time.sleep(50)"], timeout=0.3)


def test_a_command_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="no-such-compiler"):
        process.Workers().run(["no-such-compiler"], timeout=60)


@pytest.mark.parametrize("said", ["cc1plus: out of memory allocating 17 bytes after a total of 6 bytes",
                                  "virtual memory exhausted: Cannot allocate memory"])  # fmt: skip
def test_memory_that_runs_out_is_said(said):
    error = compile_error(f"{said}\n", filename="a.asc", text="int x;")
    assert f"more than {process.MOST_KIB >> 20} GiB" in str(error) and "never ends" in str(error)


def test_a_thread_that_has_just_ended_hides_no_other(monkeypatch):
    monkeypatch.setattr(process.os, "listdir", lambda folder: ["0", str(os.getpid())])  # there is no thread 0
    assert process.wants_processor(os.getpid()), "the one that asks is running"
