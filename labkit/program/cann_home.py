"""A folder that takes CANN's place for the machine's own cmake: find_package(ASC), the language ASC and a bisheng.

    source "$(labkit cmake-dir)/set_env.sh"      # on a node: source /usr/local/Ascend/cann/set_env.sh
    cmake -B build && cmake --build build        # from here on the same lines as on a node
    ./build/demo

bisheng compiles each .asc file by itself. It links the program `demo.twin` and the starter `demo`, which runs it
on the twin and says what its launches took and what the checks found.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from labkit import messages
from labkit.build.cache import keep, key
from labkit.build.includes import reach
from labkit.paths import twin_dir
from labkit.program import build as room
from labkit.program import results, supervise
from labkit.program.standin import sources_of

# What cmake reads: the package, and the four files that make a language.
_MODULES = {
    "asc-config.cmake": """\
# find_package(ASC) for the lab's twin: afterwards `project(... LANGUAGES ASC CXX)` knows the language of .asc files.
if(NOT EXISTS "$ENV{ASCEND_HOME_PATH}/bin/bisheng")
    message(FATAL_ERROR "ASCEND_HOME_PATH does not lead to the lab's folder; source set_env.sh of `labkit cmake-dir`")
endif()
if(CMAKE_ASC_RUN_MODE AND NOT CMAKE_ASC_RUN_MODE STREQUAL "npu")
    message(FATAL_ERROR "CMAKE_ASC_RUN_MODE=${CMAKE_ASC_RUN_MODE} is CANN's own twin or simulator; leave it out here")
endif()
if(DEFINED CMAKE_ASC_ARCHITECTURES AND NOT CMAKE_ASC_ARCHITECTURES STREQUAL "dav-2201")
    message(FATAL_ERROR "CMAKE_ASC_ARCHITECTURES=${CMAKE_ASC_ARCHITECTURES}: the twin is an Atlas A2, dav-2201")
endif()
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
""",
    "CMakeDetermineASCCompiler.cmake": """\
# Which program compiles .asc files: the lab's bisheng.
find_program(CMAKE_ASC_COMPILER NAMES bisheng PATHS "$ENV{ASCEND_HOME_PATH}/bin" NO_DEFAULT_PATH)
if(NOT CMAKE_ASC_COMPILER)
    message(FATAL_ERROR "no bisheng in $ENV{ASCEND_HOME_PATH}/bin; source set_env.sh of `labkit cmake-dir`")
endif()
message(STATUS "The ASC compiler is the lab's, for its twin")
set(CMAKE_ASC_COMPILER_ENV_VAR "ASC")
mark_as_advanced(CMAKE_ASC_COMPILER)
configure_file("${CMAKE_CURRENT_LIST_DIR}/CMakeASCCompiler.cmake.in"
    "${CMAKE_PLATFORM_INFO_DIR}/CMakeASCCompiler.cmake" @ONLY)
""",
    "CMakeASCCompiler.cmake.in": """\
set(CMAKE_ASC_COMPILER "@CMAKE_ASC_COMPILER@")
set(CMAKE_ASC_COMPILER_LOADED 1)
set(CMAKE_ASC_COMPILER_ENV_VAR "ASC")
set(CMAKE_ASC_SOURCE_FILE_EXTENSIONS asc)
set(CMAKE_ASC_OUTPUT_EXTENSION .o)
""",
    "CMakeTestASCCompiler.cmake": """\
set(CMAKE_ASC_COMPILER_WORKS 1 CACHE INTERNAL "")
""",
    "CMakeASCInformation.cmake": """\
# How .asc files are compiled, and programs with them linked.
include(CMakeCommonLanguageInclude)
set(CMAKE_INCLUDE_FLAG_ASC "-I")
set(CMAKE_ASC_OUTPUT_EXTENSION .o)
cmake_initialize_per_config_variable(CMAKE_ASC_FLAGS "Flags used by the ASC compiler")
set(CMAKE_DEPFILE_FLAGS_ASC "-MD -MT <DEP_TARGET> -MF <DEP_FILE>")
set(CMAKE_ASC_DEPFILE_FORMAT gcc)
set(CMAKE_ASC_DEPENDS_USE_COMPILER TRUE)
set(CMAKE_ASC_COMPILE_OBJECT "<CMAKE_ASC_COMPILER> <DEFINES> <INCLUDES> <FLAGS> -o <OBJECT> -c <SOURCE>")
set(CMAKE_ASC_LINK_EXECUTABLE
    "<CMAKE_ASC_COMPILER> <FLAGS> <CMAKE_ASC_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>")
set(CMAKE_ASC_CREATE_SHARED_LIBRARY
    "<CMAKE_ASC_COMPILER> -shared <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>")
set(CMAKE_ASC_ARCHIVE_CREATE "<CMAKE_ASC_COMPILER> -lib <OBJECTS> -o <TARGET>")
set(CMAKE_ASC_ARCHIVE_FINISH "")
set(CMAKE_ASC_INFORMATION_LOADED 1)
""",
}
# Libraries of CANN that a program names; what the twin has of them is in its runtime.
_CANN = set(
    "ascendcl acl_rt ascendc_runtime runtime tiling_api register platform graph_base graph c_sec nnopbase profapi "
    "unified_dlog mmpa ascend_dump error_manager ge_common_base ascendalog".split()
)
_TOGETHER = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
_STARTER = """#!/bin/sh
# Runs {name}.twin on the lab's twin; under `labkit run` that is done already.
[ -n "$LABKIT_TWIN_REPORT" ] && exec "$0.twin" "$@"
PYTHONPATH="{repo}${{PYTHONPATH:+:$PYTHONPATH}}" exec "{python}" -m labkit.program start "$0.twin" "$@"
"""
_ENVIRONMENT = """# For a shell (source it): cmake finds the lab's twin where CANN would be.
export ASCEND_HOME_PATH="{home}"
export CMAKE_PREFIX_PATH="{home}${{CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}}"
export PATH="{home}/bin:$PATH"
"""
_BISHENG = """#!/bin/sh
PYTHONPATH="{repo}${{PYTHONPATH:+:$PYTHONPATH}}" exec "{python}" -m labkit.program bisheng "$@"
"""


def folder() -> Path:
    """The folder, made once for each Python and state of the lab's cmake files."""
    words = dict(repo=_repo(), python=sys.executable)
    digest = key(*words.values(), _ENVIRONMENT, _BISHENG, *_MODULES, *_MODULES.values())

    def make(work: Path) -> None:
        modules = work / "lib" / "cmake" / "asc"
        modules.mkdir(parents=True)
        for name, text in _MODULES.items():
            (modules / name).write_text(text)
        (work / "include").symlink_to(twin_dir() / "include")
        (work / "bin").mkdir()
        (work / "bin" / "bisheng").write_text(_BISHENG.format(**words))
        (work / "bin" / "bisheng").chmod(0o755)
        (work / "set_env.sh").write_text("")

    home = keep("cann-home", digest, "", make)
    (home / "set_env.sh").write_text(_ENVIRONMENT.format(home=home))
    return home


def environment() -> dict[str, str]:
    """What sourcing its set_env.sh changes."""
    home = folder()
    before = os.environ.get("CMAKE_PREFIX_PATH", "")
    return {
        "ASCEND_HOME_PATH": str(home),
        "CMAKE_PREFIX_PATH": f"{home}{':' + before if before else ''}",
        "PATH": f"{home / 'bin'}:{os.environ.get('PATH', '')}",
    }


def _repo() -> str:
    return str(Path(__file__).resolve().parents[2])


def _value(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1] if flag in words[:-1] else ""


def compile_one(words: list[str]) -> int:
    """`bisheng -c x.asc -o x.o`: the object, and x.o.cube beside it where there is work for cube cores."""
    paths, output, definitions, includes = sources_of([w for w in words if w != "-c"])
    output = output or f"{Path(paths[0]).stem}.o"
    defined = tuple(f"{k}={v}" if v else k for k, v in definitions.items())
    source = room.Source(Path(paths[0]).resolve(), defined, tuple(str(Path(d).resolve()) for d in includes))
    made = room.compiled(source)
    for place, file in zip((Path(output), Path(f"{output}.cube")), made):
        place.unlink(missing_ok=True)
        if file is not None:
            shutil.copy(file, place)
    if depfile := _value(words, "-MF"):
        read = reach([source.path], [], [str(source.path.parent), *source.includes])
        own = " ".join(re.sub(r"([ #])", r"\\\1", f) for f in sorted({*read, str(source.path)}))
        Path(depfile).write_text(f"{_value(words, '-MT') or output}: {own}\n")
    return 0


def link(words: list[str]) -> int:
    """`bisheng x.o main.o -o demo`."""
    if "-shared" in words or "-lib" in words:
        sys.exit("labkit: " + messages.text("program.no_library"))
    place = Path(_value(words, "-o") or "a.out")
    own = [Path(w) for w in words if w.endswith(".o") and w != str(place)]
    cube = [Path(f"{o}.cube") for o in own if Path(f"{o}.cube").exists()]
    others = [w for w in words if w.endswith((".a", ".so")) or w[:2] in ("-l", "-L")]
    made = room.linked(place.name, own, cube, [w for w in others if w.removeprefix("-l") not in _CANN])
    program = place.with_name(place.name + ".twin")
    for target, file in (program, made), (Path(f"{program}.cube.so"), Path(f"{made}.cube.so")):
        target.unlink(missing_ok=True)
        if file.exists():
            shutil.copy(file, target)
    place.unlink(missing_ok=True)
    place.write_text(_STARTER.format(name=place.name, repo=_repo(), python=sys.executable))
    place.chmod(0o755)
    return 0


def start(words: list[str]) -> int:
    """Runs a linked program and says what its launches took and what the checks found."""
    settings = supervise.Settings()
    result = results.of(supervise.run([str(Path(words[0]).resolve()), *words[1:]], Path.cwd(), settings), settings)
    print("\n".join(result.lines() + [messages.text("program.died")] * bool(result.died)))
    return result.exit_code


def shell(folder: str | os.PathLike, *lines: str) -> str:
    """Runs the lines in a shell that has sourced set_env.sh, shows and returns what they print; stops at the first
    that fails. For notebooks. Where cmake is missing it says how to get it.
    """
    if any(line.startswith("cmake") for line in lines) and not shutil.which("cmake"):
        text = messages.text("program.no_cmake")
    else:
        script = "\n".join(["set -e", *(f"echo {shlex.quote('$ ' + line)}\n{line}" for line in lines)])
        env = {**os.environ, **environment(), "CLICOLOR_FORCE": "0", "CLICOLOR": "0"}
        text = subprocess.run(["bash", "-c", script], cwd=folder, env=env, text=True, **_TOGETHER).stdout
        text = text.replace(str(folder), ".")
    print(text.rstrip("\n"))
    return text
