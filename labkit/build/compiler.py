"""The host compiler: everything the lab builds in C++ goes through here - the twin, its runner, a learner's kernels.

    build([a.cpp, b.cpp], flags=[...], name="libtwin")         -> .../libtwin-<key>/libtwin.so
    compile_kernel(lowering.lower(text, file), filename=file)  -> .../add-<key>/add.so

Results are kept (labkit.build.cache) under a key of all that can change them: the text of the sources and of every
header they reach, flags, libraries, the compiler and its version, the machine, and its CPU features where
`-march=native` asks for them. A cached call costs well under a millisecond of hashing.

No shell is ever used: a path with spaces or a flag with quotes means itself. A failed compilation raises
`labkit.CompileError`, which carries the compiler's stderr.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from labkit import messages
from labkit.build import includes, packages, precompiled
from labkit.build.cache import find, keep, key, prune
from labkit.build.diagnostics import compile_error
from labkit.build.process import TooSlow, Workers, c_locale
from labkit.source import api
from labkit.source.errors import CompileError

__all__ = ["KERNEL_FLAGS", "ToolError", "build", "compile_kernel", "cpu_key", "cxx_version", "find_cxx", "prune"]

# hidden: a kernel called fmax must not be taken for the C library's, nor the other way round
KERNEL_FLAGS = ("-O1", "-std=c++17", "-g1", "-fvisibility=hidden")
TIMEOUT_S = 900.0  # one translation unit; a template that never ends must not hang a notebook
_FORMAT = "2"  # part of every key: raise it when the layout of an entry changes
_LAUNCHERS = ("ccache", "sccache", "distcc")


class ToolError(RuntimeError):
    """A tool that the lab needs is missing or does not work; the text says how to get it."""


# ---- the compiler and the machine


def find_cxx() -> str:
    """Full path of the C++ compiler: $CXX, else the first of g++, clang++, c++. Raises ToolError."""
    named = os.environ.get("CXX", "").strip()
    # CXX="ccache g++": the lab has its own cache
    words = [w for w in shlex.split(named) if Path(w).name not in _LAUNCHERS]
    for candidate in words[:1] if words else ["g++", "clang++", "c++"]:
        found = shutil.which(candidate)
        if found:
            return found
    raise ToolError(
        messages.text(
            "compiler.cxx_not_found" if words else "compiler.no_cxx",
            cxx=named,
            command=packages.install_command(["compiler"]),
        )
    )


def cxx_version(cxx: str) -> str:
    """First line of `cxx --version`, e.g. "g++ (Debian 12.2.0-14) 12.2.0". Raises ToolError when it does not run."""
    try:
        return _cxx_version(cxx, os.stat(cxx).st_mtime_ns)
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(
            messages.text("compiler.cxx_broken", cxx=cxx, error=error, command=packages.install_command(["compiler"]))
        ) from None


@lru_cache(maxsize=8)
def _cxx_version(cxx: str, _mtime: int) -> str:
    run = subprocess.run(
        [cxx, "--version"], capture_output=True, text=True, errors="replace", check=True, timeout=60, env=c_locale()
    )
    return run.stdout.partition("\n")[0].strip()


def gcc_major(cxx: str) -> int:
    """Major version of a GCC; 0 for any other compiler."""
    version = cxx_version(cxx)
    m = re.search(r"\)\s+(\d+)\.\d+", version)
    return int(m[1]) if m and "clang" not in version.lower() else 0


@lru_cache(maxsize=1)
def cpu_key() -> str:
    """Machine and a hash of its CPU features: what a binary built with -march=native depends on."""
    features = ""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        pass
    return f"{platform.machine()}-{hashlib.sha256(features.encode()).hexdigest()[:12]}"


def kernel_libs() -> list[str]:
    """How a kernel's library is linked: with C's library alone. Words for compile_kernel(libs=...).

    What it takes from C++'s is in the process that loads it, before everything else (libtwin needs libstdc++); only to
    read libstdc++'s symbols costs the linker as much as the rest of a small kernel's compilation. C's libraries stay,
    for the versions of their symbols (there are two exp in libm).
    """
    return ["-nodefaultlibs", "-lgcc", "-lm", "-lc"] if gcc_major(find_cxx()) else []


def no_builtins(names: Iterable[str]) -> list[str]:
    """Flags under which functions of these names are the learner's: a kernel may be called asinh or fmax."""
    return [f"-fno-builtin-{name}" for name in sorted(names)]


def later_standard(text: str) -> list[str]:
    """C++20, where a call such as ReduceSum<float>(dst, ...) counts on its arguments to find AscendC's:
    bisheng takes that in C++17.
    """
    if "using namespace AscendC" in text:
        return []
    calls = set(re.findall(r"(?<![\w:.>])([A-Z]\w+)\s*<[\w:, ]+>\s*\(\s*\w+\s*[,\[]", text))
    return (
        ["-std=c++20"]
        if any(
            f"AscendC::{name}" not in text
            and _in_ascendc(name)
            and not re.search(rf"\b(?:void|auto|inline|using|class|struct)\s+(?:AscendC::)?{name}\b", text)
            for name in calls
        )
        else []
    )


@lru_cache(maxsize=256)
def _in_ascendc(name: str) -> bool:
    return name in api.names()


def message_flags(cxx: str) -> list[str]:
    """Plain messages with columns in bytes, which every GCC and clang then agrees on.

    Not `-fdiagnostics-format=json`: it leaves out the chain of instantiations ("required from here"), and that chain
    leads from an error inside a twin header to the learner's own line.
    """
    if gcc_major(cxx) >= 11:
        return ["-fdiagnostics-column-unit=byte", "-fno-diagnostics-show-caret", "-fmax-errors=40"]
    return []


# ---- what is built


@dataclass(frozen=True)
class Unit:
    """One translation unit: a file, or a text that is written into the entry as `name`.
    flags: its own, after the recipe's.
    """

    name: str
    path: Path | None = None
    text: bytes = b""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe:
    units: tuple[Unit, ...]
    flags: tuple[str, ...]
    kind: str
    libs: tuple[str, ...]
    name: str
    cxx: str
    deps: tuple[Path, ...] = ()
    learner: tuple[str, str] | None = None  # (filename, text): errors are given at its lines
    pic: bool = False  # an object that goes into a shared library
    headers: tuple[Path, ...] = ()  # those that are worth a precompiled one, see build()

    @property
    def file(self) -> str:
        return {"shared": f"{self.name}.so", "object": f"{self.name}.o"}.get(self.kind, self.name)


def _native(flags: Iterable[str]) -> bool:
    """Whether these flags make code for this machine's own processor."""
    return any(re.fullmatch(r"-m(?:arch|cpu|tune)=native", flag) for flag in flags)


def _reached(recipe: Recipe) -> dict[str, bytes]:
    """path -> digest of every file that the result depends on, libraries apart."""
    files = [*recipe.deps, *(unit.path for unit in recipe.units if unit.path is not None)]
    texts = [unit.text for unit in recipe.units if unit.path is None]
    return includes.reach(files, texts, includes.folders(recipe.flags))


def _digest(recipe: Recipe, reached: dict[str, bytes] | None = None) -> str:
    parts: list[str | bytes] = [_FORMAT, recipe.kind, recipe.name, recipe.cxx, cxx_version(recipe.cxx)]
    parts += [platform.machine(), str(len(recipe.flags)), *recipe.flags, str(len(recipe.libs)), *recipe.libs]
    if recipe.pic:
        parts.append("-fPIC")
    if any(_native([*recipe.flags, *unit.flags]) for unit in recipe.units or (Unit(""),)):
        parts.append(cpu_key())
    for unit in recipe.units:
        parts += [unit.name, unit.text, *unit.flags]
    for path, digest in sorted((_reached(recipe) if reached is None else reached).items()):
        parts += [path, digest]
    parts += [includes.digest(lib) for lib in recipe.libs if os.path.isfile(lib)]
    return key(*parts)


def build(
    sources: Sequence[str | os.PathLike],
    *,
    flags: Sequence[str],
    kind: str = "shared",
    deps: Iterable = (),
    libs: Sequence[str | os.PathLike] = (),
    name: str,
    announce: Callable[[str], None] | None = None,
    jobs: int = 2,
    unit_flags: Callable[[Path], Sequence[str]] | None = None,
    headers: Sequence[str | os.PathLike] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """The shared library `name.so` or the program `name` made of `sources`; from the cache when nothing changed.

    flags go to every compilation and to the link; libs (paths or "-l..." words) follow the objects at the link.
    unit_flags(source) are further flags of one source's compilation. deps are extra files or folders that the result
    depends on; headers reached through `-I` are found without them.
    headers: large headers that many of several sources reach. g++ reads the last of them that a source reaches in a
    precompiled form, before the source's own first line: such a header must not depend on macros that a source defines.
    announce(text) is called once, and only when something is really going to be compiled; progress(done, all) then
    after each of several sources, first with done = 0, counting those that are not in the cache.
    Raises CompileError, ToolError, FileNotFoundError (a source or dep that is not there).
    """
    if kind not in ("shared", "exe"):
        raise ValueError(f'kind is "shared" or "exe", not {kind!r}')
    paths = [Path(s).resolve() for s in sources]
    units = tuple(Unit(p.name, p, b"", tuple(map(str, unit_flags(p) if unit_flags else ()))) for p in paths)
    if not units:
        raise ValueError(f"nothing to build for {name!r}: sources is empty")
    recipe = Recipe(
        units,
        tuple(map(str, flags)),
        kind,
        tuple(map(str, libs)),
        name,
        find_cxx(),
        tuple(Path(d) for d in deps),
        headers=tuple(Path(h).resolve() for h in headers),
    )
    return _made(recipe, jobs, announce, progress)


def compile_kernel(
    text: str,
    *,
    filename: str,
    include_dirs: Sequence[str | os.PathLike] = (),
    flags: Sequence[str] = (),
    libs: Sequence[str | os.PathLike] = (),
    announce: Callable[[str], None] | None = None,
    in_two_steps: bool = False,
    only_object: bool = False,
) -> Path:
    """The shared library, or only_object, of one lowered kernel text (labkit.source.lowering.lower).

    filename is the name that the learner gave the text: its folder is searched for quoted includes (and is in the key
    only where one is found there), and errors are given at the lines of that file. in_two_steps: the object is kept by
    itself, so that other `libs` cost a link. Raises CompileError, ToolError.
    """
    stem = re.sub(r"\W+", "_", Path(filename).stem).strip("_") or "kernel"
    code = text.encode()
    words = [*KERNEL_FLAGS, *_division_traps(find_cxx()), *flags, *(f"-I{d}" for d in include_dirs)]
    here = Path(filename).resolve().parent
    if here.is_dir() and includes.reads_from(here, code, includes.folders(words)):
        words += ["-iquote", str(here)]
    units, flags, libs = (Unit(f"{stem}.cpp", None, code),), tuple(map(str, words)), tuple(map(str, libs))
    whole = Recipe(units, flags, "shared", libs, stem, find_cxx(), learner=(filename, text))
    if not in_two_steps and not only_object:
        return _made(whole, 1, announce)
    made = _made(replace(whole, kind="object", libs=(), pic=True), 1, announce)
    if only_object:
        return made
    linked = [made, *(lib for lib in libs if os.path.isfile(lib))]
    digest = key(_FORMAT, "link", whole.cxx, cxx_version(whole.cxx), *libs, *map(includes.digest, linked))
    command = [whole.cxx, "-shared", str(made), *libs, "-o"]
    return keep(stem, digest, whole.file, lambda work: step(Workers(work), [*command, str(work / whole.file)], whole))


@lru_cache(maxsize=4)
def _division_traps(cxx: str) -> tuple[str, ...]:
    """Flags for an Arm host, where an integer divided by zero is 0: with them it stops the program, as on x86."""
    how = "-fsanitize-undefined-trap-on-error" if gcc_major(cxx) else "-fsanitize-trap=integer-divide-by-zero"
    run = subprocess.run([cxx, "-dumpmachine"], capture_output=True, text=True, timeout=60)
    return ("-fsanitize=integer-divide-by-zero", how) if run.stdout.startswith(("aarch64", "arm")) else ()


def compile_object(recipe: Recipe) -> Path:
    """The object file of a recipe of kind "object" with one unit. Raises CompileError, ToolError."""
    return _made(recipe, 1, None)


def _made(
    recipe: Recipe,
    jobs: int,
    announce: Callable[[str], None] | None,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    def say() -> None:
        if announce is not None:
            announce(messages.text("compiler.building", name=recipe.name, count=len(recipe.units)))

    reached = _reached(recipe)
    return keep(
        recipe.name,
        _digest(recipe, reached),
        recipe.file,
        lambda work: _compile(recipe, work, jobs, reached, progress),
        say,
    )


# ---- the work itself


def _compile(
    recipe: Recipe, work: Path, jobs: int, reached: dict[str, bytes], progress: Callable[[int, int], None] | None
) -> None:
    workers = Workers(work if recipe.learner is not None else None)
    words = [*recipe.flags, *message_flags(recipe.cxx), *(["-fPIC"] if recipe.kind == "shared" or recipe.pic else [])]
    shape = {"shared": ["-shared"], "object": ["-c"]}.get(recipe.kind, [])
    target = ["-o", str(work / recipe.file), *recipe.libs]
    inputs = [_input(unit, work) for unit in recipe.units]
    if len(inputs) == 1:
        words += recipe.units[0].flags
        return _one_unit(workers, recipe, words, [*shape, inputs[0], *target], reached)
    units = [_Object.of(recipe, words, source, unit.flags) for source, unit in zip(inputs, recipe.units)]
    missing = [u for u in units if find(u.name, u.digest, _OBJECT) is None]
    count = _Count(len(missing), progress)
    pool = ThreadPoolExecutor(max(1, min(jobs, len(inputs))), thread_name_prefix="labkit-build")
    firsts = Path(tempfile.mkdtemp(prefix="headers-", dir=work))  # large, and of use for this build only
    try:
        # The headers first: else one worker makes one and the others wait for it.
        first = dict(pool.map(lambda use: (use, _first(recipe, *use, firsts)), _uses(missing)))
        made = {
            u.source: pool.submit(u.make, workers, recipe, first.get((u.header, u.words)), count)
            for u in sorted(units, key=lambda u: u not in missing)
        }
        objects = [str(made[source].result()) for source in inputs]
    except BaseException:
        workers.stop()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        shutil.rmtree(firsts, ignore_errors=True)
    step(workers, [recipe.cxx, *words, *shape, *objects, *target], recipe)


class _Count:
    """Counts the units that are done; the thread that finishes one calls progress(done, all)."""

    def __init__(self, of: int, progress: Callable[[int, int], None] | None) -> None:
        self.of, self._done, self._progress, self._lock = of, 0, progress, threading.Lock()
        if progress is not None and of:
            progress(0, of)

    def one(self) -> None:
        with self._lock:
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self.of)


def _one_unit(workers: Workers, recipe: Recipe, words: list[str], rest: list[str], reached: dict[str, bytes]) -> None:
    """One command for the only unit; of a kernel, with the header that it includes first precompiled."""
    found = forced = None
    if recipe.learner is not None:
        forced = precompiled.forced(recipe.cxx, cxx_version(recipe.cxx), words)
        found = precompiled.beside(recipe.cxx, cxx_version(recipe.cxx), words, recipe.units[0].text, reached)
    if forced:
        return _with_precompiled(workers, recipe, forced[1], [*forced[0], *rest], [*words, *rest])
    if found is None:
        return step(workers, [recipe.cxx, *words, *rest], recipe)
    folder, home = found
    at = words.index(f"-I{home}")
    _with_precompiled(workers, recipe, folder, [*words[:at], f"-I{folder}", *words[at:], *rest], [*words, *rest])


def _with_precompiled(workers: Workers, recipe: Recipe, folder: Path, words: list[str], without: list[str]) -> None:
    """A step by way of the precompiled header in `folder`, and without it where that header is what failed."""
    try:
        return step(workers, [recipe.cxx, *words], recipe)
    except CompileError as error:
        if not precompiled.failed_on_pch(error.stderr):
            raise
    precompiled.drop(folder)
    step(workers, [recipe.cxx, *without], recipe)


_OBJECT = "unit.o"
_WORTH = 4  # sources that reach a large header: making it precompiled costs about as much as reading it three times


@dataclass(frozen=True)
class _Object:
    """One unit's object, kept by itself: an edit of one file of the twin compiles that file.

    The key has no folders in it, only what they hold, so that two checkouts share their objects.
    """

    source: str
    name: str
    digest: str
    words: tuple[str, ...]
    header: Path | None  # one that it reaches, to be read precompiled

    @classmethod
    def of(cls, recipe: Recipe, common: list[str], source: str, own: tuple[str, ...]) -> "_Object":
        words = (*common, *own)
        reached = includes.reach([source], [], includes.folders(recipe.flags))
        header = next((h for h in reversed(recipe.headers) if str(h) in reached), None)
        flags = [w for w in words if not w.startswith("-I")]
        native = [cpu_key()] if _native(flags) else []
        files = sorted((_folder_and_name(path), content) for path, content in reached.items())
        digest = key(
            _FORMAT,
            cxx_version(recipe.cxx),
            platform.machine(),
            *native,
            *flags,
            _folder_and_name(source),
            *(part for file in files for part in file),
        )
        name = _folder_and_name(source).removesuffix(Path(source).suffix).replace("/", "-")
        return cls(source, f"{recipe.name}-{name}", digest, words, header)

    def make(self, workers: Workers, recipe: Recipe, first: Path | None, count: _Count) -> Path:
        """Its path. first: what it is compiled with by `-include`. Raises CompileError, ToolError."""

        def run(work: Path) -> None:
            rest = ["-c", self.source, "-o", str(work / _OBJECT)]
            without = [*self.words, *rest]
            if first is None:
                step(workers, [recipe.cxx, *without], recipe)
            else:
                _with_precompiled(workers, recipe, first.parent, [*self.words, "-include", str(first), *rest], without)
            count.one()

        return keep(self.name, self.digest, _OBJECT, run)


def _uses(units: Sequence[_Object]) -> list[tuple[Path, tuple[str, ...]]]:
    """(header, words) of the precompiled headers that save these units more than the making costs."""
    found = Counter((u.header, u.words) for u in units if u.header is not None)
    return [use for use, times in found.items() if times >= _WORTH]


def _first(recipe: Recipe, header: Path, words: tuple[str, ...], folder: Path) -> Path | None:
    number = hashlib.sha256("\0".join([str(header), *words]).encode()).hexdigest()[:8]
    return precompiled.included(recipe.cxx, cxx_version(recipe.cxx), words, header, folder / number)


def _folder_and_name(path: str) -> str:
    return "/".join(Path(path).parts[-2:])  # distinguishes two files of one name, and is the same in every checkout


def _input(unit: Unit, work: Path) -> str:
    if unit.path is not None:
        return str(unit.path)
    path = work / unit.name
    path.write_bytes(unit.text)
    return str(path)


def step(workers: Workers, command: list[str], recipe: Recipe) -> None:
    """Runs one command of a build. Raises CompileError, with its places in the learner's file, and ToolError."""
    try:
        code, stderr = workers.run(command, timeout=TIMEOUT_S)
    except TooSlow as slow:
        raise ToolError(messages.text("compiler.too_slow", seconds=slow.seconds)) from None
    except OSError as error:
        raise ToolError(
            messages.text(
                "compiler.cxx_broken", cxx=recipe.cxx, error=error, command=packages.install_command(["compiler"])
            )
        ) from None
    if code:
        filename, text = recipe.learner or (None, None)
        raise compile_error(stderr, filename=filename, text=text, command=command)
