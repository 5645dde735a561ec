"""The lab's stand-ins for cmake, make, bisheng and CANN's profilers, while a sample's own commands run.

`cmake ..` notes the folder and the definitions, `make` (or `cmake --build`) builds each program of the project for the
twin and puts it where cmake would have; `bisheng x.asc -o demo` builds one. Everything else that a sample starts is
the machine's own.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from labkit import messages
from labkit.build import compiler
from labkit.program import build as room
from labkit.program import cmakefile
from labkit.program.cmakefile import program_words

_NOTE = ".labkit-cmake.json"
NAMES = ("cmake", "make", "ninja", "bisheng", "msprof", "msopprof", "mssanitizer", "python3", "python")


def install(folder: Path) -> None:
    """Writes the stand-ins into `folder`, which comes first in PATH, and an empty CANN beside them."""
    here = Path(__file__).resolve().parents[2]
    for name in NAMES:
        file = folder / name
        if name.startswith("python"):
            file.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        else:
            file.write_text(
                f'#!/bin/sh\nPYTHONPATH="{here}${{PYTHONPATH:+:$PYTHONPATH}}" exec "{sys.executable}" -m '
                f'labkit.program {name} "$@"\n'
            )
        file.chmod(0o755)
    cann = folder / "cann"
    for name in ("set_env.sh", "bin/setenv.bash"):
        (cann / name).parent.mkdir(parents=True, exist_ok=True)
        (cann / name).write_text("")


def environment(folder: Path, original: Path, copy: Path) -> dict[str, str]:
    cann = str(folder / "cann")
    return {
        "PATH": f"{folder}:{os.environ.get('PATH', '')}",
        "LABKIT_RUN_ORIGINAL": str(original),
        "LABKIT_RUN_COPY": str(copy),
        "ASCEND_HOME_PATH": cann,
        "ASCEND_INSTALL_PATH": cann,
        "ASCEND_TOOLKIT_HOME": cann,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def original(path: Path) -> Path:
    """The learner's own file or folder of one in the copy, as long as the copy is the same."""
    home, copy = os.environ.get("LABKIT_RUN_ORIGINAL"), os.environ.get("LABKIT_RUN_COPY")
    if not home or not copy or home == copy or not path.resolve().is_relative_to(copy):
        return path
    there = Path(home) / path.resolve().relative_to(copy)
    same = (
        there.is_dir()
        and path.is_dir()
        or (there.is_file() and path.is_file() and there.read_bytes() == path.read_bytes())
    )
    return there if same else path


# ---- cmake, make


def cmake(words: list[str]) -> int:
    if "-E" in words[:1]:
        return _tool(words[1:])
    for option, step in (
        ("--build", lambda folder: make(folder, words)),
        ("--install", lambda folder: _install(folder, _valued(words, "--prefix"))),
    ):
        if option in words:
            if words[-1] == option:
                sys.exit("labkit: " + messages.text("program.cmake_folder", option=option))
            return step(Path(words[words.index(option) + 1]))
    if any(w in ("--version", "--help") for w in words):
        return 0
    source, build, definitions = Path("."), None, {}
    i = 0
    while i < len(words):
        word = words[i]
        value = words[i + 1] if i + 1 < len(words) else ""
        if word in ("-S", "-B", "-G", "-D", "-A", "-T", "-C", "--toolchain", "--install-prefix"):
            i += 1
        if word == "-S":
            source = Path(value)
        elif word == "-B":
            build = Path(value)
        elif word[:2] in ("-B", "-S") and len(word) > 2:
            source, build = (source, Path(word[2:])) if word[:2] == "-B" else (Path(word[2:]), build)
        elif word.startswith("-D"):
            name, _, setting = (word[2:] or value).partition("=")
            definitions[name.partition(":")[0]] = setting
        elif not word.startswith("-") and word not in ("Ninja", "Unix Makefiles"):
            source = Path(word)
        i += 1
    if prefix := _valued(words, "--install-prefix"):
        definitions["CMAKE_INSTALL_PREFIX"] = prefix
    if not (source / "CMakeLists.txt").is_file():  # `cmake .` within a build folder: what it was configured with
        if build is None and (source / _NOTE).exists():
            build, source = source, Path(json.loads((source / _NOTE).read_text())["source"])
        else:
            sys.exit("labkit: " + messages.text("program.cmake_no_lists", folder=source.resolve()))
    build = build or Path(".")
    build.mkdir(parents=True, exist_ok=True)
    note = build / _NOTE
    before = json.loads(note.read_text())["definitions"] if note.exists() else {}
    note.write_text(json.dumps(dict(source=str(source.resolve()), definitions={**before, **definitions})))
    _project(build)  # what the file refuses, it refuses now
    return 0


def _valued(words: list[str], option: str) -> str:
    """What an option is given, as a word of its own or behind =; "" without it."""
    behind = [w.partition("=")[2] for w in words if w.startswith(f"{option}=")]
    return next(iter([*behind, *(value for word, value in zip(words, words[1:]) if word == option)]), "")


def _tool(words: list[str]) -> int:
    """cmake -E: the machine's own, or the few of its tools that a sample may need."""
    if machine := _machine_tool("cmake"):
        return os.spawnv(os.P_WAIT, machine, ["cmake", "-E", *words])
    name, places = (words or [""])[0], [Path(w) for w in words[1:] if not w.startswith("-")]
    try:
        if name == "make_directory":
            for place in places:
                place.mkdir(parents=True, exist_ok=True)
        elif name in ("copy", "copy_if_different", "copy_directory") and len(places) > 1:
            for place in places[:-1]:
                if name == "copy_directory":
                    shutil.copytree(place, places[-1], dirs_exist_ok=True)
                else:
                    shutil.copy(place, places[-1])
        elif name in ("remove", "remove_directory", "rm"):
            for place in places:
                if place.is_dir() and not place.is_symlink():
                    shutil.rmtree(place)
                else:
                    place.unlink(missing_ok=True)
        else:
            sys.exit("labkit: " + messages.text("program.cmake_tool", tool=name))
    except OSError as error:
        sys.exit(f"cmake -E {name}: {error}")
    return 0


def _project(build: Path):
    if not (build / _NOTE).exists():
        sys.exit(f"labkit: nothing was configured in {build.resolve()}; cmake comes before make")
    note = json.loads((build / _NOTE).read_text())
    source = original(Path(note["source"]))
    try:
        return cmakefile.read(source, note["definitions"])
    except cmakefile.CMakeError as error:
        sys.exit("labkit: " + messages.text("program.cmake", file=source / "CMakeLists.txt", message=error))


def make_folder(words: list[str]) -> Path:
    """Where make is to go first: -C x, -Cx, --directory=x."""
    stuck = (w[2:] for w in words if w.startswith("-C") and len(w) > 2)
    return Path(_valued(words, "-C") or _valued(words, "--directory") or next(stuck, "."))


def make(build: Path, words: list[str]) -> int:
    if not (build / _NOTE).exists():
        machine = _machine_tool("make")
        if machine and any((build / f).exists() for f in ("Makefile", "makefile")):
            return os.spawnv(os.P_WAIT, machine, ["make", *words])
    if "clean" in words:  # what is built is kept by its content
        return 0
    project = _project(build)
    try:
        programs = room.of_project(project)
    except room.NoProgram:
        source = json.loads((build / _NOTE).read_text())["source"]
        sys.exit("labkit: " + messages.text("program.none", folder=source))
    for program in programs:
        _link(_output(project, build) / program.name, room.build(program))
    if "install" in words:
        _install(build)
    return 0


def _output(project, build: Path) -> Path:
    """The folder in which make puts the programs."""
    named = project.variable("CMAKE_RUNTIME_OUTPUT_DIRECTORY") or project.variable("EXECUTABLE_OUTPUT_PATH")
    return _in_copy(build / (named or ""))


def _link(place: Path, made: Path) -> None:
    """A program at its place, instead of one that was built before."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(made)


def _in_copy(path: Path) -> Path:
    """Where a path of the learner's own folder lies in the copy: nothing is written beside their files."""
    home, copy = os.environ.get("LABKIT_RUN_ORIGINAL"), os.environ.get("LABKIT_RUN_COPY")
    if home and copy and home != copy and path.is_absolute() and path.is_relative_to(home):
        return Path(copy) / path.relative_to(home)
    return path


def _install(build: Path, prefix: str = "") -> int:
    project = _project(build)
    home = _in_copy(Path(prefix or project.variable("CMAKE_INSTALL_PREFIX") or build.resolve().parent / "out"))
    names, output = [target.name for target in project.programs()], _output(project, build)
    made = {name: (output / name).resolve() for name in names if (output / name).exists()}
    if names and not made:
        sys.exit("labkit: " + messages.text("program.nothing_to_install", names=", ".join(names), folder=output))
    for folder in (home / "bin", home):
        for name, program in made.items():
            _link(folder / name, program)
    return 0


def _machine_tool(name: str) -> str | None:
    own = str(Path(sys.argv[0]).resolve().parent)
    path = os.pathsep.join(
        p for p in os.environ.get("PATH", "").split(os.pathsep) if p != own and not (Path(p) / "cann").is_dir()
    )
    return shutil.which(name, path=path)


# ---- one file by hand


def sources_of(words: list[str]) -> tuple[list[str], str, dict[str, str], list[str]]:
    """`program_words` of a bisheng that compiles. Raises NoProgram where it is given no source."""
    found = program_words(words)
    if not found[0]:
        raise room.NoProgram(messages.text("program.no_source", words=" ".join(words)))
    return found


def bisheng(words: list[str]) -> int:
    if "--version" in words:  # as a sample's script asks before it builds
        print(f"bisheng: labkit's stand-in, {compiler.cxx_version(compiler.find_cxx())}")
        return 0
    paths, output, definitions, includes = sources_of(words)
    files = [original(Path(p)) for p in paths]
    made = room.build(room.of_files(files, definitions, includes))
    place = Path(output or "a.out")
    place.unlink(missing_ok=True)
    place.symlink_to(made)
    return 0


# what follows one of these is its value, though a program may have that name
_VALUED = ("--output", "--kernel-name", "--aic-metrics", "--launch-count", "--launch-skip-before-match", "--warm-up",
           "--replay-mode", "--mstx-include", "--timeout", "--core-id", "--soc-version", "--config", "--export",
           "--tool", "-t", "--log-file", "--log-level", "--python", "-o")  # fmt: skip


def profiler(words: list[str]) -> int:
    """Runs the program that a profiler was to run."""
    named = [w.partition("=")[2] for w in words if w.startswith("--application=")]
    named += [word for option, word in zip(words, words[1:]) if option == "--application"]
    if named and named[0]:
        return os.spawnv(os.P_WAIT, "/bin/sh", ["sh", "-c", named[0]])
    sure, unsure = [], []
    for at, (before, word) in enumerate(zip(["", *words], words)):
        if (
            word.startswith("-")
            or before in _VALUED
            or at < 2
            and word in ("op", "simulator")
            or not shutil.which(word)
        ):
            continue
        option = before.startswith("-") and "=" not in before and "/" not in word  # one that we do not know
        (unsure if option else sure).append(at)
    start = min(sure or unsure, default=None)
    if start is None:
        sys.exit("labkit: " + messages.text("program.no_application", words=" ".join(words)))
    return os.spawnv(os.P_WAIT, shutil.which(words[start]), words[start:])
