"""The lab's stand-ins for cmake, make, bisheng and CANN's profilers, while a sample's own commands run.

`cmake ..` notes the folder and the definitions, `make` (or `cmake --build`) builds each program of the project for the
twin and puts it where cmake would have; `bisheng x.asc -o demo` builds one. Everything else that a sample starts is
the machine's own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

from labkit import messages
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
    if "--build" in words:
        return make(Path(words[words.index("--build") + 1]), words)
    if "--install" in words:
        return _install(Path(words[words.index("--install") + 1]))
    if any(w in ("--version", "-E", "--help") for w in words):
        return 0
    source, build, definitions = Path("."), Path("."), {}
    i = 0
    while i < len(words):
        word = words[i]
        value = words[i + 1] if i + 1 < len(words) else ""
        if word in ("-S", "-B", "-G", "-D"):
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
    build.mkdir(parents=True, exist_ok=True)
    note = build / _NOTE
    before = json.loads(note.read_text())["definitions"] if note.exists() else {}
    note.write_text(json.dumps(dict(source=str(source.resolve()), definitions={**before, **definitions})))
    _project(build)  # what the file refuses, it refuses now
    return 0


def _project(build: Path):
    note = json.loads((build / _NOTE).read_text())
    source = original(Path(note["source"]))
    try:
        return cmakefile.read(source, note["definitions"])
    except cmakefile.CMakeError as error:
        sys.exit("labkit: " + messages.text("program.cmake", file=source / "CMakeLists.txt", message=error))


def make(build: Path, words: list[str]) -> int:
    if "clean" in words:
        return 0
    if not (build / _NOTE).exists():
        machine = _machine_tool("make")
        if machine and any((build / f).exists() for f in ("Makefile", "makefile")):
            return os.spawnv(os.P_WAIT, machine, ["make", *words])
        sys.exit(f"labkit: nothing was configured in {build.resolve()}; cmake comes before make")
    project = _project(build)
    for program in room.of_project(project):
        made = room.build(program)
        folder = build / (
            project.variable("CMAKE_RUNTIME_OUTPUT_DIRECTORY") or project.variable("EXECUTABLE_OUTPUT_PATH") or ""
        )
        place = _in_copy(folder) / program.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(made)
    if "install" in words:
        _install(build)
    return 0


def _in_copy(path: Path) -> Path:
    """Where a path of the learner's own folder lies in the copy: nothing is written beside their files."""
    home, copy = os.environ.get("LABKIT_RUN_ORIGINAL"), os.environ.get("LABKIT_RUN_COPY")
    if home and copy and home != copy and path.is_absolute() and path.is_relative_to(home):
        return Path(copy) / path.relative_to(home)
    return path


def _install(build: Path) -> int:
    project = _project(build)
    prefix = _in_copy(Path(project.variable("CMAKE_INSTALL_PREFIX") or build.resolve().parent / "out"))
    for folder in (prefix / "bin", prefix):
        folder.mkdir(parents=True, exist_ok=True)
        for target in project.programs():
            made = build / target.name
            if made.exists() and not (folder / target.name).exists():
                (folder / target.name).symlink_to(made.resolve())
    return 0


def _machine_tool(name: str) -> str | None:
    own = str(Path(sys.argv[0]).resolve().parent)
    path = os.pathsep.join(
        p for p in os.environ.get("PATH", "").split(os.pathsep) if p != own and not (Path(p) / "cann").is_dir()
    )
    return shutil.which(name, path=path)


# ---- one file by hand


def bisheng(words: list[str]) -> int:
    paths, output, definitions, includes = program_words(words)
    files = [original(Path(p)) for p in paths]
    made = room.build(room.of_files(files, definitions, includes))
    place = Path(output or "a.out")
    place.unlink(missing_ok=True)
    place.symlink_to(made)
    return 0


def profiler(words: list[str]) -> int:
    """Runs the program that a profiler was to run."""
    application = next((w.partition("=")[2] for w in words if re.match(r"--application=", w)), "")
    start = next(
        (i for i, w in enumerate(words) if w.startswith("./") or os.access(w, os.X_OK) and os.path.isfile(w)), None
    )
    if application:
        return os.spawnv(os.P_WAIT, "/bin/sh", ["sh", "-c", application])
    return os.spawnv(os.P_WAIT, words[start], words[start:]) if start is not None else 0
