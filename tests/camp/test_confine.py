"""A confined command sees what it is given, writes in its folder, and ends; at each level that this machine has."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from labkit.camp import confine, lockdown

LEVELS = [level for level in confine.LEVELS[:-1] if level != "bubblewrap" or shutil.which("bwrap")]


@pytest.fixture(params=LEVELS)
def level(request, monkeypatch):
    monkeypatch.setenv("LABKIT_CONFINE", request.param)
    if confine.offers().level != request.param:
        pytest.skip(f"{request.param}: {confine.offers().missing}")
    return request.param


def python(text: str, **settings) -> tuple[int, str, str, str]:
    return confine.run([sys.executable, "-s", "-c", text], **settings)


def test_it_runs_and_says_what_it_printed(level):
    assert python("print(6 * 7)")[:2] == (0, "42\n")
    assert python("raise SystemExit(5)")[0] == 5


def test_files_elsewhere_are_out_of_reach(level, tmp_path):
    os.chmod(tmp_path, 0o777)
    (tmp_path / "secret").write_text("secret")
    given = tmp_path / "given"
    given.write_text("given")
    text = (
        "import os, sys\n"
        "def can(path, mode):\n"
        "    try:\n        open(path, mode).close()\n        return True\n"
        "    except OSError:\n        return False\n"
        f"print([can({str(tmp_path / 'secret')!r}, 'r'), can({str(tmp_path / 'new')!r}, 'w'), can({str(given)!r}, 'r'),\n"
        f"       can({str(given)!r}, 'a'), can('mine', 'w'), can(os.environ['HOME'] + '/mine', 'w'), can('/etc/shadow', 'r')])"
    )
    assert python(text, read=[given])[1] == "[False, False, True, False, True, True, False]\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["given", "secret"] and given.read_text() == "given"


def test_a_relative_path_and_a_link_out_of_what_is_listed_can_be_read(level, tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "text").write_text("read")
    (tmp_path / "middle").symlink_to("there")
    (tmp_path / "link").symlink_to("middle")
    monkeypatch.chdir(tmp_path)
    for given, asked in (("there", "there/text"), ("link", "link/text"), (tmp_path / "link", "link/text")):
        assert python(f"print(open({str(tmp_path / asked)!r}).read())", read=[given])[:2] == (0, "read\n"), given


def test_what_fails_before_the_command_starts_leaves_nothing(tmp_path, monkeypatch):
    have = confine.offers()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(TypeError):
        confine.start(["/bin/true"], read=5, offers_=have)
    monkeypatch.setattr(confine.group, "make", lambda processes: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        confine.start(["/bin/true"], offers_=have)
    assert list(tmp_path.iterdir()) == [] and len(os.listdir("/proc/self/fd")) == before


def test_the_compiler_is_the_one_that_builds(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    compiler = tmp_path / "bin" / "my g++"
    shutil.copy("/bin/true", compiler)
    monkeypatch.setenv("CXX", f"ccache '{compiler}' -m64 -pipe")
    assert str(tmp_path) in confine._python_folders()
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert str(tmp_path) not in confine._python_folders()


def test_a_compiler_in_there_cannot_include_what_lies_outside(level, tmp_path):
    (tmp_path / "solution.asc").write_text("int secret;")
    text = (
        "import subprocess\n"
        f"open('a.cpp', 'w').write('#include \"{tmp_path}/solution.asc\"\\nint main() {{}}')\n"
        "print(subprocess.run(['g++', '-c', 'a.cpp'], capture_output=True, text=True).stderr.split(':')[-1])"
    )
    assert "No such file" in (said := python(text)[1]) or "Permission denied" in said


def test_the_callers_variables_do_not_go_along(level, monkeypatch):
    monkeypatch.setenv("LABKIT_TEST_SECRET", "x")
    assert "LABKIT_TEST_SECRET" not in python("import os; print(dict(os.environ))")[1]


def test_no_network(level):
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = server.getsockname()
        text = f"import socket\ntry:\n    socket.create_connection({where!r}, 2)\n    print('there')\nexcept OSError as e: print('no')"
        assert python(text)[1] == "no\n"
        assert socket.create_connection(where, 2).close() is None, "without confinement it is there"


def test_memory_time_and_processes_end(level):
    small = confine.Limits(memory_bytes=200 << 20, wall_s=30)
    assert python("x = [b'x' * (1 << 24) for _ in range(400)]", limits=small)[3] == "memory"
    assert python("import time; time.sleep(600)", limits=confine.Limits(wall_s=1))[3] == "time"
    began = time.monotonic()
    # Bounded, and its children make none: one without end, where only the watch counts, took a whole machine.
    forks = "import os, time\nfor n in range(200):\n    if os.fork() == 0: time.sleep(30)\ntime.sleep(30)"
    assert python(forks, limits=confine.Limits(processes=20, wall_s=20))[3] in ("processes", "time")
    assert time.monotonic() - began < 60
    assert python("while True: pass", limits=confine.Limits(cpu_s=1, wall_s=60))[0] != 0


def test_nothing_is_left(level, tmp_path):
    made = confine.start(
        [sys.executable, "-s", "-c", "import os, time\nif os.fork() == 0: os.setsid()\ntime.sleep(600)"]
    )
    time.sleep(1.5)
    family = confine._family(made.process.pid)
    assert len(family) >= 1
    made.close()
    assert not made.home.exists()
    deadline = time.monotonic() + 5
    while any(map(runs, family)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(runs, family))


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_it_ends_with_the_process_that_started_it(level):
    text = (
        "import os, sys\nfrom labkit.camp import confine\n"
        "made = confine.start([sys.executable, '-s', '-c', 'import time; time.sleep(600)'])\n"
        "import time; time.sleep(1.5)\nprint(*[made.process.pid, *confine._family(made.process.pid)], flush=True)\nos._exit(0)"
    )
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout
    pids = list(map(int, said.split()))
    deadline = time.monotonic() + 5
    while any(map(runs, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert pids and not any(map(runs, pids))


KILLED = """
import os, sys
from pathlib import Path
from labkit.camp import confine
print(confine._folder()[0], flush=True)
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_grader_left_is_removed_by_the_next(tmp_path, monkeypatch):
    """A folder that is in use stays, and one so young that it may be about to be locked."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    mine, lock = confine._folder()
    left, young = (
        Path(subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True).stdout.strip())
        for _ in range(2)
    )
    (left / "scratch").mkdir()
    (tmp_path / "other").mkdir()
    for folder in (mine, left, tmp_path / "other"):
        os.utime(folder, (time.time() - 100,) * 2)
    confine._sweep.cache_clear()
    confine._sweep()
    assert sorted(tmp_path.iterdir()) == sorted([mine, young, tmp_path / "other"])
    os.close(lock)


def test_no_namespaces_and_no_tracing_in_there(level):
    text = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.unshare(0x10000000), ctypes.get_errno(), libc.ptrace(0, 0, 0, 0), ctypes.get_errno())"
    )
    if not confine.offers().seccomp:
        pytest.skip("no seccomp here")
    assert python(text)[1] == "-1 1 -1 1\n"


def test_another_name_for_the_level_is_refused(monkeypatch):
    assert confine.offers(), "what was found under another name does not answer for this one"
    monkeypatch.setenv("LABKIT_CONFINE", "jail")
    with pytest.raises(ValueError, match="bubblewrap, namespaces, landlock, none"):
        confine.offers()
    monkeypatch.setenv("LABKIT_CONFINE", "none")
    assert confine.offers().level == "none"


def test_limits_only_ever_fall():
    said = "from labkit.camp import lockdown\nimport resource\nlockdown.limit({'NOFILE': 64})\nlockdown.limit({'NOFILE': 128})\n"
    out = subprocess.run(
        [sys.executable, "-c", said + "print(resource.getrlimit(resource.RLIMIT_NOFILE))"],
        capture_output=True,
        text=True,
    )
    assert out.stdout == "(64, 64)\n"
    assert lockdown.landlock_version() >= 0
