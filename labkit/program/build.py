"""Building a learner's whole program for the twin: each source by itself, then one executable with the twin's runtime.

    program = build(files(Path("demo.asc")), name="demo")

Sources are lowered (labkit.program.sources); objects and executables are kept by content like every build of the lab.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from labkit.build import compiler, headers, includes, runtime
from labkit.build.cache import keep, key
from labkit.build.process import Workers
from labkit.program import sources
from labkit.program.cmakefile import Project, Target

_FLAGS = ("-O1", "-std=gnu++17", "-g1", "-fPIC", "-fvisibility=hidden")
_HEADERS = ("cstdint", "cstdio", "cstdlib", "cstring", "string")  # what CANN's own headers bring along


@dataclass(frozen=True)
class Source:
    """One file of a program and what it is compiled with."""

    path: Path
    definitions: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()


@dataclass
class Program:
    """name: of the executable. link_flags: words behind its objects at the link."""

    name: str
    sources: list[Source] = field(default_factory=list)
    link_flags: list[str] = field(default_factory=list)


class NoProgram(Exception):
    """There is nothing to build here; the text says what was looked for, but for `of_project`, which does not know how
    its project was asked for."""


def of_project(project: Project) -> list[Program]:
    """The programs of a CMake project. Raises NoProgram."""
    made = [Program(t.name, _of_target(project, t)) for t in project.programs()]
    made = [p for p in made if p.sources]
    if not made:
        raise NoProgram
    return made


def _of_target(project: Project, target: Target) -> list[Source]:
    parts = project.parts(target)
    found: dict[Path, Source] = {}
    for part in parts:
        shared = [p for other in parts for p in other.includes]  # CANN's modules hand include folders on
        for path in part.sources:
            found.setdefault(
                path, Source(path, tuple(project.definitions(part)), tuple(dict.fromkeys([*part.includes, *shared])))
            )
    return list(found.values())


def of_files(paths: list[Path], definitions: dict[str, str], include_dirs: list[str]) -> Program:
    """A program of these files, of which there is at least one, all compiled alike; it is called as the first."""
    words = tuple(f"{k}={v}" if v else k for k, v in definitions.items())
    return Program(paths[0].stem, [Source(p, words, tuple(include_dirs)) for p in paths])


def build(program: Program, *, start: bool = True) -> Path:
    """Path of the executable; one with work for cube cores has their library `<name>.cube.so` beside it.

    start=False leaves out what makes it a program of the twin: host code that launches nothing.
    Raises CompileError, ToolError, SourceError.
    """
    texts = [sources.read(s.path, list(s.includes), s.definitions) for s in program.sources]
    by_name = sources.launched_by_name([t.text for t in texts])
    generated = [str(_headers(by_name))] if by_name else []
    core_mixes = _core_mixes(program.sources, texts, by_name, generated)
    units = [(s, sources.lower(t, core_mixes, by_name)) for s, t in zip(program.sources, texts)]
    kinds = [(), *([("-DTWIN_CUBE_CORE",)] if any(aic for aic, _ in core_mixes.values()) else [])]
    plain = tuple(compiler.no_builtins(core_mixes))
    jobs = [(s, text, generated, (*flags, *plain)) for flags in kinds for s, text in units]
    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(lambda job: _object(*job), jobs))
    return _linked(
        program.name,
        objects[: len(units)],
        objects[len(units) :],
        (str(program.sources[0].path), units[0][1]),
        start,
        program.link_flags,
    )


def compiled(source: Source) -> tuple[Path, Path | None]:
    """The object of one source by itself, and its object for the cube cores where it has work for them.

    Raises CompileError, ToolError, SourceError.
    """
    text = sources.read(source.path, list(source.includes), source.definitions)
    by_name = sources.launched_by_name([text.text])
    generated = [str(_headers(by_name))] if by_name else []
    mixes = _core_mixes([source], [text], by_name, generated)
    lowered, plain = sources.lower(text, mixes, by_name), tuple(compiler.no_builtins(mixes))
    own = _object(source, lowered, generated, plain)
    cube = any(aic for aic, _ in mixes.values())
    return own, _object(source, lowered, generated, ("-DTWIN_CUBE_CORE", *plain)) if cube else None


def _core_mixes(
    files: list[Source], texts: list[sources.Text], by_name: list[str], generated: list[str]
) -> dict[str, tuple[int, int]]:
    """name -> cores of a block of each kernel: what it says, else what its compiled code has work for."""
    found = sources.core_mixes(texts)
    for source, text in zip(files, texts):
        guessed = {name: mix for name, mix in sources.core_mixes([text], guessed=True).items() if mix[0]}
        if not guessed or "__global__" not in text.text:
            continue
        lowered, plain = sources.lower(text, found, by_name), tuple(compiler.no_builtins(found))
        kinds = [(*kind, *plain, *runtime.INSPECTED) for kind in (("-DTWIN_CUBE_CORE",), ())]
        with ThreadPoolExecutor(2) as pool:
            cube, vector = pool.map(lambda kind: _object(source, lowered, generated, kind), kinds)
        found |= {name: runtime.cores_of(cube, vector, name, mix) for name, mix in guessed.items()}
    return found


def linked(name: str, own: list[Path], cube: list[Path], flags: Sequence[str]) -> Path:
    """A program of objects: those of `compiled`, and what the machine's own compiler made of plain C++."""
    return _linked(name, own, cube, (name, ""), True, flags)


def _linked(
    name: str, own: list[Path], cube: list[Path], learner: tuple[str, str], start: bool, flags: Sequence[str] = ()
) -> Path:
    stem = re.sub(r"\W+", "_", name).strip("_") or "program"
    library, cxx = runtime.library(), compiler.find_cxx()
    own = [*own, *([_start_object()] if start else [])]
    libs = (*flags, str(library), f"-Wl,-rpath,{library.parent}", "-ldl", "-pthread")
    recipe = compiler.Recipe((), (), "exe", libs, stem, cxx, learner=learner)
    digest = key(compiler.cxx_version(cxx), *libs, *(includes.digest(f) for f in [library, *own, *cube]))

    def link(work: Path) -> None:
        if cube:
            compiler.step(
                Workers(work),
                [cxx, "-shared", *map(str, cube), "-Wl,-Bsymbolic", "-o", str(work / f"{stem}.cube.so"), *libs],
                recipe,
            )
        compiler.step(Workers(work), [cxx, *map(str, own), "-o", str(work / stem), *libs], recipe)
        (work / stem).chmod(0o755)  # GNU's linker does that behind its work, and a confined one is not let

    return keep(stem, digest, stem, link)


def _headers(by_name: list[str]) -> Path:
    return keep(
        "aclrtlaunch",
        key(sources.LAUNCH_HEADER, *by_name),
        "",
        lambda work: sources.write_launch_headers(work, by_name),
    ).resolve()


def _object(source: Source, text: str, generated: list[str], kind: tuple[str, ...]) -> Path:
    """One source's object. Its folder is searched for quoted includes, as if the file itself were compiled."""
    stem = re.sub(r"\W+", "_", source.path.stem).strip("_") or "source"
    folders = [*generated, *source.includes, *map(str, headers.include_dirs())]
    flags = [
        *_FLAGS,
        *_own_symbols(),
        *kind,
        *(f"-D{d}" for d in source.definitions),
        "-iquote",
        str(source.path.parent),
        *(f"-I{d}" for d in folders),
        *(x for h in _HEADERS for x in ("-include", h)),
    ]
    recipe = compiler.Recipe(
        (compiler.Unit(f"{stem}.cpp", None, text.encode()),),
        tuple(flags),
        "object",
        (),
        stem,
        compiler.find_cxx(),
        learner=(str(source.path), text),
    )
    return compiler.compile_object(recipe)


def _own_symbols() -> list[str]:
    """What keeps the two compilations of a mixed program apart: g++ makes some symbols one for the whole process."""
    return ["-fno-gnu-unique"] if compiler.gcc_major(compiler.find_cxx()) else []


def _start_object() -> Path:
    path = runtime.program_start()
    recipe = compiler.Recipe((compiler.Unit(path.name, path),), _FLAGS, "object", (), path.stem, compiler.find_cxx())
    return compiler.compile_object(recipe)
