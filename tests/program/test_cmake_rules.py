"""What cmake refuses of a CMakeLists.txt the reader refuses, in cmake's words; what it accepts is accepted."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from labkit.program import cmakefile

HEAD = "cmake_minimum_required(VERSION 3.16)\nproject(base LANGUAGES NONE)\nadd_library(t INTERFACE)\n"
REFUSED = """
set_target_properties(t LINKER_LANGUAGE ASC)
set_target_properties(t PROPERTIES A)
set_target_properties(nothing PROPERTIES A B)
set_property(TARGET t A B)
set_property(t PROPERTY A B)
target_link_libraries(nothing x)
target_link_libraries(t x PRIVATE y)
target_include_directories(t include)
target_compile_definitions(t)
target_compile_options(t -O2)
target_sources(t main.cpp)
add_library(t INTERFACE)
add_library(u ALIAS)
find_package(ASC FOO REQUIRED)
cmake_minimum_required(3.16)
set()
set(A B CACHE STRING)
option(A)
list(APPEND)
list(FOO A)
aux_source_directory(.)
message()
if(A)
endif()
add_dependencies(t)
set_target_properties(t PROPERTIES A B
""".strip().split("\n")
ACCEPTED = """
set_target_properties(t PROPERTIES A B C D)
set_property(TARGET t APPEND PROPERTY A B)
target_link_libraries(t INTERFACE x y)
target_link_libraries(t)
target_compile_definitions(t INTERFACE)
add_library(u ALIAS t)
add_library(v INTERFACE IMPORTED)
set(A)
set(A B CACHE STRING "")
set_target_properties(t PROPERTIES A "${UNKNOWN}")
list(APPEND A)
""".strip().split("\n")


def refusal(folder, line: str) -> str:
    (folder / "CMakeLists.txt").write_text(f"{HEAD}{line}\n")
    try:
        cmakefile.read(folder)
    except cmakefile.CMakeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("line", REFUSED)
def test_refused(tmp_path, line):
    assert refusal(tmp_path, line)


@pytest.mark.parametrize("line", ACCEPTED)
def test_accepted(tmp_path, line):
    assert not refusal(tmp_path, line)


@pytest.mark.parametrize(
    "line", ["set_target_properties(t PROPERTIES A ${UNKNOWN})", "make_it(u)\ntarget_sources(u PRIVATE a)"]
)
def test_what_a_package_may_set_or_make_is_not_refused(tmp_path, line):
    assert not refusal(tmp_path, line)


@pytest.mark.skipif(not shutil.which("cmake"), reason="cmake is not installed")
def test_cmake_says_the_same(tmp_path):
    for lines in (REFUSED[:6:2], ACCEPTED[::4]):
        for line in lines:
            said = refusal(tmp_path, line)
            run = subprocess.run(
                ["cmake", "-S", tmp_path, "-B", tmp_path / "build"], capture_output=True, text=True, timeout=60
            )
            assert bool(said) == bool(run.returncode), line
            assert " ".join(said.split()[:4]) in " ".join(run.stderr.split()), (line, run.stderr)
