"""The machine's own cmake with the lab in CANN's place: find_package(ASC), .asc files, a program that runs by itself."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from places import PROGRAMS, REPO

from labkit.program import cann_home

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake on this machine")
FIRST = REPO / "kernels" / "first_program"


@pytest.fixture
def project(tmp_path):
    shutil.copytree(FIRST, tmp_path / "first", ignore=shutil.ignore_patterns("exercises", "*.py", "__pycache__"))
    return tmp_path / "first"


def sh(folder, *lines: str) -> subprocess.CompletedProcess:
    """The lines in a shell that has sourced set_env.sh."""
    script = "\n".join(["set -e", f"source {cann_home.folder()}/set_env.sh", *lines])
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LABKIT_TWIN", "ASCEND"))}
    return subprocess.run(["bash", "-c", script], cwd=folder, env=env, capture_output=True, text=True)


BUILD = "cmake -B build && cmake --build build"


def test_configure_build_run(project):
    done = sh(project, BUILD, "./build/demo 3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 of 768 wrong" in done.stdout and "twice[3] twice.asc:" in done.stdout
    assert "SyntaxWarning" not in done.stderr


def test_a_changed_header_is_built_again(project):
    sh(project, BUILD)
    header = project / "twice.h"
    text = header.read_text()
    os.utime(header, (4e9, 4e9))
    header.write_text(text.replace("SHARE = 256", "SHARE = 64"))
    os.utime(header, (4e9, 4e9))
    assert "0 of 192 wrong" in sh(project, "cmake --build build", "./build/demo 3").stdout


def test_a_kernel_of_both_kinds_of_core(project):
    shutil.copy(PROGRAMS / "mixed.asc", project / "twice.asc")
    lists = project / "CMakeLists.txt"
    lists.write_text(lists.read_text().replace("twice.asc main.cpp", "twice.asc"))
    done = sh(project, BUILD, "./build/demo")
    assert "aiv 4 aic 2" in done.stdout and (project / "build" / "demo.twin.cube.so").is_file(), done.stdout


def test_wrong_projects_are_refused(project):
    lists = project / "CMakeLists.txt"
    right = lists.read_text()
    find = "find_package(ASC REQUIRED)\n"
    for wrong, told in (
        (right.replace(find, "").replace("CXX)\n", "CXX)\n" + find), "CMakeDetermineASCCompiler"),
        (right.replace("dav-2201", "dav-3510"), "the twin is an Atlas A2"),
        (right.replace("add_executable(demo", "add_library(demo SHARED"), "libraries of kernels"),
    ):
        lists.write_text(wrong)
        done = sh(project, "rm -rf build", BUILD)
        assert done.returncode and told in done.stdout + done.stderr, done.stdout + done.stderr


def test_findings_and_errors_reach_the_learners_lines(project):
    main, kernel = project / "main.cpp", project / "twice.asc"
    main.write_text(main.read_text().replace("    aclrtSynchronizeStream(stream);\n", ""))
    assert "[host-unsynced] main.cpp:27" in sh(project, BUILD, "./build/demo").stdout
    kernel.write_text(kernel.read_text().replace("2.0f, SHARE", "2.0f, SHAR"))
    done = sh(project, "cmake --build build")
    assert done.returncode and "twice.asc, line 22: 'SHAR' is not declared" in done.stderr
    kernel.write_text(
        (FIRST / "twice.asc").read_text().replace("DataCopy(tile, xGm, SHARE)", "DataCopy(tile, xGm, 2 * SHARE)")
    )
    done = sh(project, "cmake --build build", "./build/demo")
    assert done.returncode == 3 and "error [" in done.stdout, done.stdout
