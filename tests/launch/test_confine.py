"""What a launched kernel, a program in its folder and a compiler cannot do to the rest of the machine."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")
import torch  # noqa: E402

import labkit  # noqa: E402
from labkit.build import compiler, runtime  # noqa: E402
from labkit.program.runnable import HostProgram  # noqa: E402
from labkit.source.errors import CompileError  # noqa: E402

KERNEL = """
#include "kernel_operator.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
// Each line prints what worked.
extern "C" __global__ __aicore__ void reach(GM_ADDR x)
{
    const char *file = "%(file)s", *fresh = "%(file)s.new";
    const uint64_t mark[2] = {uint64_t("as"), 2}, own[4] = {};
    if (open(fresh, O_CREAT | O_WRONLY, 0600) >= 0) printf("made ");
    if (open(file, O_WRONLY) >= 0) printf("opened ");
    if (truncate(file, 0) == 0) printf("cut ");
    if (unlink(file) == 0) printf("removed ");
    if (chmod(file, 0) == 0) printf("closed ");
    if (syscall(452, AT_FDCWD, file, 0, 0) == 0) printf("fchmodat2 ");
    if (syscall(463, AT_FDCWD, file, 0, "user.mark", mark, sizeof mark) == 0) printf("setxattrat ");
    if (syscall(469, AT_FDCWD, file, own, sizeof own, 0) == 0) printf("file_setattr ");
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0) printf("network ");
    if (kill(getppid(), 0) == 0) printf("parent ");
    if (kill(%(other)d, 0) == 0) printf("other ");
    if (ptrace(PTRACE_SEIZE, getppid(), 0, 0) == 0) printf("traced ");
    rlimit most;
    if (prlimit(getppid(), RLIMIT_NOFILE, nullptr, &most) == 0) printf("limit ");
    if (open(file, O_RDONLY) >= 0) printf("read ");
    if (open("/dev/null", O_WRONLY) >= 0) printf("null ");
    if (raise(0) == 0 && kill(getpid(), 0) == 0) printf("itself ");
    printf(".");
    fflush(stdout);
}
"""


@pytest.fixture(scope="module")
def whole() -> bool:
    """Whether this machine can do all of it; the doctor says so too."""
    said = subprocess.run([str(runtime.runner()), "confine"], capture_output=True, text=True, check=True).stdout
    if said:
        pytest.skip(said)
    return True


def test_a_kernel_keeps_to_its_own(tmp_path, whole):
    file = tmp_path / "file"
    file.write_text("as it was")
    other = subprocess.Popen(["sleep", "60"])
    try:
        text = KERNEL % {"file": file, "other": other.pid}
        record = labkit.kernel(text=text, filename="reach.asc")[1](torch.zeros(8).npu())
    finally:
        other.kill()
        other.wait()
    reached = record.output.split()
    # another process of the same user is out of reach where Landlock has scopes (version 6, Linux 6.12)
    assert [w for w in reached if w != "other"] == ["read", "null", "itself", "."]
    assert file.read_text() == "as it was" and [p.name for p in tmp_path.iterdir()] == ["file"]


def marks(file: Path) -> tuple:
    s = file.stat()
    return s.st_mode, s.st_uid, s.st_gid, s.st_mtime_ns


PROGRAM = """
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
int main()
{
    if (mkdir("folder", 0700) == 0 && open("folder/own", O_CREAT | O_WRONLY, 0600) >= 0) printf("own ");
    if (chmod("folder/own", 0400) == 0 && rename("folder/own", "mine") == 0) printf("moved ");
    // its own files are no others to the system: it is told that it is done, and nothing is
    chmod("%(file)s", 0), chown("%(file)s", 1, 1), utimes("%(file)s", nullptr);
    int other = open("%(file)s", O_RDONLY);
    fchmod(other, 0), futimens(other, nullptr);
    if (open("%(file)s.new", O_CREAT | O_WRONLY, 0600) >= 0) printf("made ");
    if (unlink("%(file)s") == 0) printf("removed ");
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0) printf("network ");
    return 0;
}
"""


def test_a_program_of_a_cell_writes_to_its_own_folder(tmp_path, whole):
    file = tmp_path / "file"
    file.write_text("as it was")
    before = marks(file)
    result = HostProgram(PROGRAM % {"file": file}, "reach")()
    assert result.output.split() == ["own", "moved"], result.output
    assert marks(file) == before
    assert [p.name for p in Path(tmp_path).iterdir()] == ["file"]


COMPILER = """#!/bin/sh
case "$*" in *--version*|*-dumpmachine*) exec %(real)s "$@";; esac
for word in "$@"; do case "$word" in *.cpp) cut=$word;; esac; done
{ touch %(outside)s/made; mktemp; mktemp -p %(outside)s; rm %(outside)s/kept; } >> "${cut%%.cpp}.said" 2>/dev/null
chmod 0 %(outside)s/kept; touch -m -d 2001-01-01 %(outside)s/kept
exec %(real)s "$@"
"""


def test_a_compiler_of_a_kernel_writes_to_its_folder(tmp_path, whole, monkeypatch):
    """Its own temporary files too: none is left in /tmp by one that was killed."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("as it was")
    before = marks(outside / "kept")
    wrapper = tmp_path / "g++"
    wrapper.write_text(COMPILER % {"real": compiler.find_cxx(), "outside": outside})
    wrapper.chmod(0o755)
    monkeypatch.setenv("CXX", str(wrapper))
    made = compiler.compile_kernel(f"int f{time.time_ns()}() {{ return 1; }}\n", filename="one.asc")
    assert [p.name for p in outside.iterdir()] == ["kept"] and marks(outside / "kept") == before
    temporary = (made.parent / "one.said").read_text().split()
    assert len(temporary) == 1 and ".tmp-" in temporary[0], "mktemp worked in the build's own folder, and only there"


def test_flags_of_a_project_write_nowhere_else(tmp_path, whole):
    table = tmp_path / "table.map"
    text = f"int f{time.time_ns()}() {{ return 1; }}\n"
    with pytest.raises(CompileError, match="table.map"):
        compiler.compile_kernel(text, filename="one.asc", libs=[f"-Wl,-Map={table}"])
    assert not table.exists()
