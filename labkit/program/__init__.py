"""Whole programs on the twin: `labkit run file.asc [arguments]` and `labkit run folder/`.

    run_file(Path("demo.asc"), ["8"], Settings())     builds the program, runs it in its own folder
    run_folder(Path("samples/add"), [], Settings())   follows the folder's own README or run.sh, in a copy of it

Both return a Result: the program's status, what the checks found, the modelled time of each launch.
"""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from labkit import messages
from labkit.program import build as _build
from labkit.program import cmakefile, commands, results, standin, supervise
from labkit.program.build import NoProgram
from labkit.program.results import Result
from labkit.program.supervise import Settings
from labkit.source.scan import mask

__all__ = ["NoProgram", "Result", "Settings", "run_file", "run_folder"]

_LEFT_OUT = shutil.ignore_patterns("build", "build_*", "out", ".git", "__pycache__", "*.o", "*.so")


def run_file(
    path: Path,
    arguments: list[str],
    settings: Settings,
    *,
    definitions: dict[str, str] | None = None,
    include_dirs: Sequence[str] = (),
    capture: bool = False,
) -> Result:
    """Builds one file (with what its CMakeLists.txt adds to it) and runs it where it lies. include_dirs: as -I.

    Raises CompileError, ToolError, SourceError, NoProgram.
    """
    path = path.resolve()
    program = _build.build(_program_of(path, definitions or {}, list(include_dirs)))
    ended = supervise.run([str(program), *arguments], path.parent, settings, capture=capture)
    return results.of(ended, settings)


def _program_of(path: Path, definitions: dict[str, str], include_dirs: list[str]) -> _build.Program:
    if (path.parent / "CMakeLists.txt").is_file():
        try:
            made = _build.of_project(cmakefile.read(path.parent, definitions))
            for program in made:
                if path in [s.path for s in program.sources]:
                    program.sources = [replace(s, includes=(*s.includes, *include_dirs)) for s in program.sources]
                    return program
        except (cmakefile.CMakeError, NoProgram):
            pass  # the file by itself is a program as well
    if not _has_main(path):
        raise NoProgram(messages.text("program.no_main", file=_pasted(path)))
    return _build.of_files([path], definitions, include_dirs)


def _has_main(path: Path) -> bool:
    import re

    return bool(re.search(r"\bmain\s*\(", mask(path.read_text(encoding="utf-8", errors="replace"))))


def run_folder(
    folder: Path,
    arguments: list[str],
    settings: Settings,
    *,
    definitions: dict[str, str] | None = None,
    in_place: bool = False,
    capture: bool = False,
) -> Result:
    """Runs a sample as its own files say, in a copy of its folder (in_place: in the folder itself).

    Raises NoProgram. What fails on the way (a compilation, a script) shows as the status of the commands.
    """
    folder = folder.resolve()
    if _is_operator(folder):
        raise NoProgram(messages.text("program.operator", folder=folder))
    if not _has_anything(folder):
        raise NoProgram(messages.text("program.none", folder=folder))
    script = commands.commands(folder, definitions or {}, arguments)
    with tempfile.TemporaryDirectory(prefix="labkit-sample-") as scratch:
        tools = Path(scratch) / "tools"
        tools.mkdir()
        standin.install(tools)
        copy = folder if in_place else _copy(folder, Path(scratch) / "samples")
        env = standin.environment(tools, folder, copy)
        env["LABKIT_PROGRAM"] = _only_program(folder, definitions or {})
        lines = ["set -e", *(f"echo {shlex.quote('$ ' + line)}\n{line}" for line in script.lines)]
        ended = supervise.run(["bash", "-c", "\n".join(lines)], copy, settings, env=env, capture=capture)
    result = results.of(ended, settings)
    result.steps = script.lines
    return result


def _is_operator(folder: Path) -> bool:
    """Whether it is a custom operator's project, which has no program: op_host and op_kernel, here or one below."""
    homes = [folder, *(p for p in folder.iterdir() if p.is_dir())]
    return not (folder / "run.sh").is_file() and any(
        (h / "op_host").is_dir() and (h / "op_kernel").is_dir() for h in homes
    )


def _has_anything(folder: Path) -> bool:
    return any((folder / f).is_file() for f in ("CMakeLists.txt", "run.sh")) or any(
        _has_main(p) for pattern in ("*.asc", "*.cpp") for p in folder.glob(pattern)
    )


def _copy(folder: Path, home: Path) -> Path:
    """The folder's copy, its neighbours linked beside it: a script may reach for ../common."""
    home.mkdir(parents=True)
    shutil.copytree(folder, home / folder.name, ignore=_LEFT_OUT, symlinks=True)
    for neighbour in folder.parent.iterdir():
        if neighbour != folder and not neighbour.name.startswith("."):
            (home / neighbour.name).symlink_to(neighbour)
    return home / folder.name


def _only_program(folder: Path, definitions: dict[str, str]) -> str:
    try:
        programs = cmakefile.read(folder, definitions).programs()
    except (FileNotFoundError, cmakefile.CMakeError):
        return "demo"
    return programs[0].name if programs else "demo"


def _pasted(path: Path) -> str:
    """The path as a line that is pasted into Python finds it: from this folder where it lies below, else whole."""
    here = Path.cwd().resolve()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
