"""The stand-ins for cmake, make and the profilers: what a sample's own commands ask of them is done, or refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.program import NoProgram, standin
from labkit.program.__main__ import main as program_main

LISTS = """cmake_minimum_required(VERSION 3.16)
project(x)
{more}
add_executable(demo main.cpp)
install(TARGETS demo DESTINATION bin)
"""
MAIN = "int main() { return %d; }\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a build folder, in which the test stands."""
    (tmp_path / "main.cpp").write_text(MAIN % 3)
    (tmp_path / "CMakeLists.txt").write_text(LISTS.format(more=""))
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path / "build")
    return tmp_path


@pytest.mark.parametrize("variable", ["", "CMAKE_RUNTIME_OUTPUT_DIRECTORY", "EXECUTABLE_OUTPUT_PATH"])
def test_install_takes_a_program_from_where_make_put_it(project, variable):
    more = f"set({variable} ${{CMAKE_CURRENT_SOURCE_DIR}}/there)" if variable else ""
    (project / "CMakeLists.txt").write_text(LISTS.format(more=more))
    assert standin.cmake(["..", f"-DCMAKE_INSTALL_PREFIX={project}/out"]) == 0
    with pytest.raises(SystemExit, match="demo"):
        standin.cmake(["--install", "."])
    assert standin.make(Path("."), ["install"]) == 0
    installed = project / "out" / "bin" / "demo"
    first = installed.resolve(strict=True)
    assert first == (project / ("there" if variable else "build") / "demo").resolve() != installed
    (project / "main.cpp").write_text(MAIN % 4)
    standin.make(Path("."), ["install"])
    assert installed.resolve(strict=True) != first, "a program that was built anew is installed anew"


def test_a_prefix_that_is_the_output_folder(project):
    more = "set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/out)"
    (project / "CMakeLists.txt").write_text(LISTS.format(more=more))
    standin.cmake(["..", f"-DCMAKE_INSTALL_PREFIX={project}/out"])
    standin.make(Path("."), ["install"])
    assert (project / "out" / "demo").resolve(strict=True) == (project / "out" / "bin" / "demo").resolve(strict=True)


@pytest.mark.parametrize("words", [["--prefix", "{there}"], ["--prefix={there}"]])
def test_a_prefix_that_is_named_when_installing(project, words):
    standin.cmake(["..", f"-DCMAKE_INSTALL_PREFIX={project}/out"])
    standin.cmake(["--build", "."])
    there = project / "there"
    assert standin.cmake(["--install", ".", *(w.format(there=there) for w in words)]) == 0
    assert (there / "bin" / "demo").resolve(strict=True) and not (project / "out").exists()


def test_a_prefix_that_is_named_when_configuring(project):
    standin.cmake(["..", "--install-prefix", f"{project}/there", "-A", "x64"])
    standin.make(Path("."), ["install"])
    assert (project / "there" / "bin" / "demo").resolve(strict=True)


@pytest.mark.parametrize("words", [["-C", "build"], ["-Cbuild"], ["--directory=build"], ["--directory", "build"]])
def test_make_in_another_folder(project, monkeypatch, words):
    standin.cmake([".."])
    monkeypatch.chdir(project)
    assert program_main("make", words) == 0
    assert (project / "build" / "demo").resolve(strict=True)


def test_a_project_without_a_program_says_so(project):
    (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.16)\nproject(x)\n")
    standin.cmake([".."])
    with pytest.raises(SystemExit, match="no program in .*add_executable"):
        standin.make(Path("."), [])


def test_a_source_that_is_not_there_is_named_without_a_traceback(tmp_path):
    words = [sys.executable, "-m", "labkit.program", "bisheng", "absent.asc", "-o", "demo"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 1 and ran.stderr.startswith("labkit: ") and "absent.asc" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("words", [[], ["-o", "demo"], ["-c", "-o", "demo.o"], ["-O2", "main.o.txt"]])
def test_a_compiler_without_a_source_says_so(words):
    with pytest.raises(NoProgram, match="no source file: "):
        program_main("bisheng", words)


def test_the_compiler_answers_what_a_sample_asks_before_it_builds(capsys):
    assert program_main("bisheng", ["--version"]) == 0 and "labkit's stand-in" in capsys.readouterr().out


def test_an_object_without_a_name_is_called_as_its_source(tmp_path, monkeypatch):
    (tmp_path / "main.cpp").write_text(MAIN % 0)
    monkeypatch.chdir(tmp_path)
    assert program_main("bisheng", ["-c", "main.cpp"]) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["main.cpp", "main.o"]


def test_configuring_again_from_within(project):
    with pytest.raises(SystemExit, match="CMakeLists.txt"):
        standin.cmake(["."])
    standin.cmake([".."])
    assert standin.cmake(["-DX=1", "."]) == 0 and standin.cmake([]) == 0
    os.chdir(project)
    assert standin.cmake(["build", "-DY=2"]) == 0 and not (project / ".labkit-cmake.json").exists()
    assert '"X": "1", "Y": "2"' in (project / "build" / ".labkit-cmake.json").read_text()


def test_a_folder_that_is_not_named():
    for word in ("--build", "--install"):
        with pytest.raises(SystemExit, match=word):
            standin.cmake([word])


@pytest.mark.parametrize("machine", [True, False], ids=["the machine's cmake", "none"])
def test_cmakes_own_tools(tmp_path, monkeypatch, machine):
    if machine and not shutil.which("cmake"):
        pytest.skip("no cmake here")
    if not machine:
        monkeypatch.setattr(standin, "_machine_tool", lambda name: None)
    monkeypatch.chdir(tmp_path)
    assert standin.cmake(["-E", "make_directory", "a/b", "c"]) == 0 and (tmp_path / "a" / "b").is_dir()
    (tmp_path / "text").write_text("x")
    assert standin.cmake(["-E", "copy", "text", "a/b"]) == 0 and (tmp_path / "a" / "b" / "text").read_text() == "x"
    assert standin.cmake(["-E", "copy_directory", "a", "d"]) == 0 and (tmp_path / "d" / "b" / "text").is_file()
    assert standin.cmake(["-E", "remove", "text"]) == 0 and not (tmp_path / "text").exists()
    assert standin.cmake(["-E", "remove_directory", "a"]) == 0 and not (tmp_path / "a").exists()
    if not machine:
        with pytest.raises(SystemExit, match="tar"):
            standin.cmake(["-E", "tar", "xf", "a.tar"])


def test_clean_of_a_makefile_is_run(tmp_path, monkeypatch):
    if not shutil.which("make"):
        pytest.skip("no make here")
    monkeypatch.chdir(tmp_path)
    Path("Makefile").write_text("clean:\n\ttouch cleaned\n")
    assert standin.make(Path("."), ["clean"]) == 0 and Path("cleaned").exists()


def test_clean_before_anything_was_configured(project):
    assert standin.make(Path("."), ["clean"]) == 0


# ---- profilers


@pytest.fixture
def sample(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("demo", "run.sh"):
        Path(name).write_text(f'#!/bin/sh\necho "{name} $*" > ran\n')
    Path("demo").chmod(0o755)
    Path("t.py").write_text("import sys\nprint('t.py', *sys.argv[1:], file=open('ran', 'w'))\n")
    Path("out").mkdir()
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable) + ":/usr/bin:/bin")


@pytest.mark.parametrize(
    "words, ran",
    [
        ("op python3 t.py 3", "t.py 3"),
        ("op bash run.sh --fast", "run.sh --fast"),
        ("op --output ./out ./demo 7", "demo 7"),
        ("op --output=./out --kernel-name true ./demo 7", "demo 7"),
        ("op --launch-count 5 --new-one ./out ./demo", "demo "),
        ("op simulator --soc-version Ascend910B1 ./demo", "demo "),
        ("--new-flag ./demo true", "demo true"),
        ("--new-option true ./demo", "demo "),
        ("--tool memcheck -g ./demo -o x", "demo -o x"),
        ("--application=./demo\t8", "demo 8"),
        ("--application ./demo\t8 --output ./out", "demo 8"),
    ],
)
def test_a_profiler_runs_the_program(sample, words, ran):
    assert standin.profiler([w.replace("\t", " ") for w in words.split(" ")]) == 0
    assert Path("ran").read_text() == ran + "\n"


@pytest.mark.parametrize("words", ["op --output=./out", "op ./not-built", "op --output ./demo", "", "op run.sh"])
def test_a_profiler_without_a_program_says_so(sample, words):
    with pytest.raises(SystemExit, match="labkit: "):
        standin.profiler(words.split())
    assert not Path("ran").exists()


def test_what_the_program_returns_is_handed_on(sample):
    Path("demo").write_text("#!/bin/sh\nexit 5\n")
    assert standin.profiler(["op", "./demo"]) == 5
