"""What is read of a CMakeLists.txt, against what the machine's own cmake makes of it."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess

import pytest

from labkit.program import cmakefile
from labkit.program.build import of_project

PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(a LANGUAGES CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(OTHERS "Ascend310P1" "Ascend310P3")
add_executable(first main.cpp)
target_include_directories(first PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/of first")
target_compile_definitions(first PRIVATE
  $<$<BOOL:$<IN_LIST:Ascend910B1,${OTHERS}>>:IS_OTHER> -DDUMP $<$<BOOL:ON>:YES> $<$<BOOL:>:NO> $<$<CONFIG:Debug>:DEBUGS>
  $<$<CONFIG:release>:RELEASED> $<$<COMPILE_LANGUAGE:CXX>:OF_CXX> $<$<PLATFORM_ID:Linux>:LINUX> $<$<NOT:$<BOOL:0>>:NOT>
  "SAID=\\"two words\\"")
include_directories(later)
add_definitions(-DLATER)
add_compile_definitions(LATER_TOO=3)
add_compile_options(-DONLY_BEHIND)
add_subdirectory(lib)
add_library(settings INTERFACE)
target_compile_definitions(settings INTERFACE WIDE=64)
add_library(apart OBJECT apart.cpp)
add_executable(second main.cpp $<TARGET_OBJECTS:apart>)
target_link_libraries(second PRIVATE inner)
"""
INNER = """
add_definitions(-DINNER)
include_directories(.)
add_library(inner STATIC inner.cpp)
target_compile_definitions(inner PUBLIC FOR_ALL PRIVATE MINE)
target_compile_options(inner INTERFACE -DFOR_OTHERS)
target_link_libraries(inner PUBLIC settings)
"""


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "my project"
    for name in ("main.cpp", "apart.cpp", "lib/inner.cpp"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("int main() {}\n" if name == "main.cpp" else "")
    (root / "CMakeLists.txt").write_text(PROJECT)
    (root / "lib" / "CMakeLists.txt").write_text(INNER)
    return root


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake on this machine")
@pytest.mark.parametrize("kind", ["", "Debug", "Release"])
def test_definitions_and_include_folders_are_those_of_cmake(folder, kind):
    subprocess.run(["cmake", "-B", "b", f"-DCMAKE_BUILD_TYPE={kind}"], cwd=folder, check=True, capture_output=True)
    expected = {}
    for one in json.loads((folder / "b" / "compile_commands.json").read_text()):
        words = shlex.split(one["command"])
        name = next(w for w in words if w.startswith(("CMakeFiles/", "lib/CMakeFiles/"))).split("CMakeFiles/")[1]
        expected[name.partition(".dir")[0]] = [
            {w[2:].removesuffix("/.") for w in words if w.startswith(kind) and w != "-DNDEBUG"} for kind in ("-D", "-I")
        ]
    project = cmakefile.read(folder, {"CMAKE_BUILD_TYPE": kind})
    read = {t.name: [set(project.definitions(t)), set(t.includes)] for t in project.targets.values() if t.sources}
    assert read == expected


def test_sources_of_an_object_library_are_the_programs(folder):
    second = of_project(cmakefile.read(folder))[1]
    assert sorted(s.path.name for s in second.sources) == ["apart.cpp", "inner.cpp", "main.cpp"]
    assert {"FOR_ALL", "FOR_OTHERS", "WIDE=64"} <= set(second.sources[0].definitions)


@pytest.mark.parametrize("words", [["-o", "demo"], ["-odemo"]])
def test_the_words_of_a_compiler(words):
    read = cmakefile.program_words(["a.asc", *words, "-I", "inc", "-Imore", "-D", "N=2", "-DFAST", "-O2"])
    assert read == (["a.asc"], "demo", {"N": "2", "FAST": ""}, ["inc", "more"])


@pytest.mark.parametrize(
    "text, worked_out",
    [
        ("$<IF:$<CONFIG:Debug>,D=1,D=0>", "D=0"),
        ("$<$<NOT:$<SOMETHING_NEW:MSVC>>:X>", ""),
        ("$<$<AND:0,$<SOMETHING_NEW:a>>:X>$<$<OR:1,$<SOMETHING_NEW:a>>:Y>", "Y"),
        ("$<$<NOT:$<CXX_COMPILER_ID:MSVC>>:X>", "X"),
        ("$<$<CXX_COMPILER_ID:Clang,GNU>:G>", "G"),
        ("$<$<EQUAL:3,3>:E>", "E"),
    ],
)
def test_generator_expressions(text, worked_out):
    assert cmakefile._worked_out(text, "Release") == worked_out
