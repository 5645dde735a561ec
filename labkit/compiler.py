"""One cache for everything the lab compiles: the twin, its runner, and the learner's kernels.

An entry is a folder `cache_dir()/build/<name>-<key>/` that appears all at once by a rename, so that it is either
complete or absent. The key covers what can change the result: text of the sources and of every header they reach,
flags, libraries, the compiler and its version, and the machine (with its CPU features where `-march=native` asks
for them). Two processes that want the same entry build it once, by a file lock.

No shell is ever used: a path with spaces or a flag with quotes means itself. A failed compilation raises
`labkit.CompileError`, which carries the compiler's stderr.
"""
from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from . import messages, paths

KERNEL_FLAGS = ("-O1", "-std=c++17", "-g1")
CACHE_BYTES = 2 << 30
TIMEOUT_S = 900.0  # one translation unit; a template that never ends must not hang a notebook
_FORMAT = "1"      # part of every key: raise it when the layout of an entry changes
_DAY_S, _HOUR_S = 86400.0, 3600.0


class ToolError(RuntimeError):
    """A tool that the lab needs is missing or does not work; the text says how to get it."""


# ---- the compiler and the machine

def find_cxx() -> str:
    """Full path of the C++ compiler: $CXX, else the first of g++, clang++, c++. Raises ToolError."""
    named = os.environ.get("CXX", "").strip()
    for candidate in [named] if named else ["g++", "clang++", "c++"]:
        found = shutil.which(candidate)
        if found:
            return found
    raise ToolError(messages.text("compiler.cxx_not_found" if named else "compiler.no_cxx", cxx=named))


def cxx_version(cxx: str) -> str:
    """First line of `cxx --version`, e.g. "g++ (Debian 12.2.0-14) 12.2.0". Raises ToolError when it does not run."""
    try:
        return _cxx_version(cxx, os.stat(cxx).st_mtime_ns)
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(messages.text("compiler.cxx_broken", cxx=cxx, error=error)) from None


@lru_cache(maxsize=8)
def _cxx_version(cxx: str, _mtime: int) -> str:
    run = subprocess.run([cxx, "--version"], capture_output=True, text=True, errors="replace", check=True, timeout=60,
                         env=_environment())
    return run.stdout.partition("\n")[0].strip()


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


def _environment() -> dict[str, str]:
    # The parser of diagnostics reads English with plain quotes, whatever the user's language is.
    return {**os.environ, "LC_ALL": "C", "LANGUAGE": "C"}


# ---- what an entry is made of

@dataclass(frozen=True)
class _Unit:
    """One translation unit: a file, or a text that is written into the entry as `name`."""
    name: str
    path: Path | None = None
    text: bytes = b""


@dataclass(frozen=True)
class _Recipe:
    units: tuple[_Unit, ...]
    flags: tuple[str, ...]
    kind: str
    libs: tuple[str, ...]
    name: str
    cxx: str
    deps: tuple[Path, ...]
    dirs: tuple[Path, ...] = field(default=())

    @property
    def file(self) -> str:
        return f"{self.name}.so" if self.kind == "shared" else self.name


@dataclass(frozen=True)
class _Seen:
    """A file as it was when last read: digest and the `#include`s in it."""
    stamp: tuple[int, int, int]
    digest: bytes
    includes: tuple[tuple[bool, str], ...]  # (written with quotes, path)


_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include(?:_next)?[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.M)
_memo: dict[str, _Seen] = {}  # a stat is 50 times cheaper than reading and hashing a header again


def _includes(text: bytes) -> tuple[tuple[bool, str], ...]:
    return tuple((bool(m[1]), os.fsdecode(m[1] or m[2])) for m in _INCLUDE.finditer(text))


def _see(path: str, stat: os.stat_result) -> _Seen:
    stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    seen = _memo.get(path)
    if seen is None or seen.stamp != stamp:
        data = Path(path).read_bytes()
        seen = _memo[path] = _Seen(stamp, hashlib.sha256(data).digest(), _includes(data))
    return seen


def _include_dirs(flags: Sequence[str]) -> list[Path]:
    dirs, take = [], False
    for flag in flags:
        if take:
            dirs.append(Path(flag))
        elif flag.startswith("-I") and len(flag) > 2:
            dirs.append(Path(flag[2:]))
        take = flag in ("-I", "-isystem", "-iquote")
    return dirs


def _reach(recipe: _Recipe) -> dict[str, bytes]:
    """path -> digest of the sources, deps and every header they include that lies in one of the include folders.

    Headers of the system are not followed: they change with the compiler, whose version is in the key.
    """
    dirs = [str(d) for d in (*_include_dirs(recipe.flags), *recipe.dirs)]
    found: dict[str, bytes] = {}
    todo: list[tuple[str, str]] = [(str(p), "") for p in _files(recipe.deps)]
    for unit in recipe.units:
        if unit.path is not None:
            todo.append((str(unit.path), ""))
        else:
            todo += [(name, "") for name in _resolve(_includes(unit.text), dirs, "")]
    while todo:
        path, _ = todo.pop()
        if path in found:
            continue
        seen = _see(path, os.stat(path))
        found[path] = seen.digest
        todo += [(name, "") for name in _resolve(seen.includes, dirs, os.path.dirname(path))]
    return found


def _resolve(includes: Iterable[tuple[bool, str]], dirs: list[str], here: str) -> Iterable[str]:
    for quoted, name in includes:
        for folder in [here, *dirs] if quoted and here else dirs:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                yield os.path.normpath(path)
                break


def _files(deps: Iterable[Path]) -> Iterable[Path]:
    for dep in deps:
        if dep.is_dir():
            yield from sorted(p for p in dep.rglob("*") if p.is_file())
        else:
            yield dep


def _key(recipe: _Recipe) -> str:
    h = hashlib.sha256()

    def put(*parts: str | bytes) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else os.fsencode(part)
            h.update(len(data).to_bytes(8, "little") + data)  # lengths: ("ab", "c") is not ("a", "bc")

    put(_FORMAT, recipe.kind, recipe.name, recipe.cxx, cxx_version(recipe.cxx), platform.machine())
    put(str(len(recipe.flags)), *recipe.flags, str(len(recipe.libs)), *recipe.libs)
    if any(flag.startswith(("-march=native", "-mcpu=native", "-mtune=native")) for flag in recipe.flags):
        put(cpu_key())
    for unit in recipe.units:
        put(unit.name, unit.text)
    for path, digest in sorted(_reach(recipe).items()):
        put(path, digest)
    for lib in recipe.libs:
        if os.path.isfile(lib):
            put(_see(lib, os.stat(lib)).digest)
    return h.hexdigest()[:24]


# ---- building

def build(sources: Sequence[str | os.PathLike], *, flags: Sequence[str], kind: str = "shared", deps: Iterable = (),
          libs: Sequence[str | os.PathLike] = (), name: str, announce: Callable[[str], None] | None = None,
          jobs: int = 2) -> Path:
    """The shared library `name.so` or the program `name` made of `sources`; from the cache when nothing changed.

    flags go to every compilation and to the link; libs (paths or "-l..." words) follow the objects at the link.
    deps are extra files or folders that the result depends on; headers reached through `-I` are found without them.
    announce(text) is called once, and only when something is really going to be compiled.
    Raises CompileError, ToolError, FileNotFoundError (a source or dep that is not there).
    """
    if kind not in ("shared", "exe"):
        raise ValueError(f'kind is "shared" or "exe", not {kind!r}')
    units = tuple(_Unit(Path(s).name, Path(s).resolve()) for s in sources)
    if not units:
        raise ValueError(f"nothing to build for {name!r}: sources is empty")
    recipe = _Recipe(units, tuple(map(str, flags)), kind, tuple(map(str, libs)), name, find_cxx(),
                     tuple(Path(d) for d in deps))
    return _cached(recipe, jobs, announce, None)


def compile_kernel(text: str, *, filename: str, include_dirs: Sequence[str | os.PathLike] = (),
                   flags: Sequence[str] = (), libs: Sequence[str | os.PathLike] = (),
                   announce: Callable[[str], None] | None = None) -> Path:
    """The shared library of one lowered kernel text (labkit.source.lower).

    filename is what the learner knows the text by: its folder is searched for quoted includes, and an error that
    the compiler reports is told in the lines of that file. Raises CompileError, ToolError.
    """
    stem = re.sub(r"\W+", "_", Path(filename).stem).strip("_") or "kernel"
    here = Path(filename).resolve().parent
    dirs = [Path(d) for d in include_dirs]
    words = [*KERNEL_FLAGS, *flags, *(f"-I{d}" for d in dirs)]
    if here.is_dir():
        words.append(f"-I{here}")
    recipe = _Recipe((_Unit(f"{stem}.cpp", None, text.encode()),), tuple(map(str, words)), "shared",
                     tuple(map(str, libs)), stem, find_cxx(), ())
    return _cached(recipe, 1, announce, (filename, text))


def _cached(recipe: _Recipe, jobs: int, announce: Callable[[str], None] | None, learner) -> Path:
    home = _build_dir()
    entry = home / f"{recipe.name}-{_key(recipe)}"
    result = entry / recipe.file
    if _touch(result, entry):
        return result
    with _locked(entry):
        if _touch(result, entry):  # another process built it while this one waited
            return result
        if announce is not None:
            announce(messages.text("compiler.building", name=recipe.name, count=len(recipe.units)))
        work = Path(tempfile.mkdtemp(prefix=".tmp-", dir=home))
        try:
            _compile(recipe, work, jobs, learner)
            _publish(work, entry, result)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    _prune_sometimes(home)
    return result


def _build_dir() -> Path:
    home = paths.cache_dir() / "build"
    home.mkdir(parents=True, exist_ok=True)
    return home


def _touch(result: Path, entry: Path) -> bool:
    """Whether the result is there; marks its entry as used, for prune()."""
    if not result.exists():
        return False
    try:
        os.utime(entry)
    except OSError:
        pass  # a read-only cache is still a cache
    return True


def _publish(work: Path, entry: Path, result: Path) -> None:
    try:
        os.rename(work, entry)
    except OSError:
        if not result.exists():  # not another's finished entry: the remains of something broken
            shutil.rmtree(entry, ignore_errors=True)
            os.rename(work, entry)


@contextmanager
def _locked(entry: Path):
    """One builder an entry, between threads and processes. Where the file system has no locks, the rename is enough."""
    with open(f"{entry}.lock", "a", encoding="ascii") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:
            pass
        yield  # closing the file gives the lock back


def _compile(recipe: _Recipe, work: Path, jobs: int, learner) -> None:
    running = _Running()
    objects = [work / f"{i}.o" for i in range(len(recipe.units))]
    common = [*recipe.flags, *(["-fPIC"] if recipe.kind == "shared" else [])]

    def one(i: int) -> None:
        unit = recipe.units[i]
        path = unit.path or work / unit.name
        if unit.path is None:
            path.write_bytes(unit.text)
        running.run([recipe.cxx, *common, "-c", str(path), "-o", str(objects[i])], learner)

    pool = ThreadPoolExecutor(max(1, min(jobs, len(objects))), thread_name_prefix="labkit-build")
    try:
        for done in [pool.submit(one, i) for i in range(len(objects))]:
            done.result()
        shape = ["-shared"] if recipe.kind == "shared" else []
        running.run([recipe.cxx, *common, *shape, *map(str, objects), "-o", str(work / recipe.file), *recipe.libs],
                    learner)
    except BaseException:
        running.stop()  # the other units, and on Ctrl-C the one in hand: cc1plus does not hear a notebook's interrupt
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    for file in objects:
        file.unlink()


class _Running:
    """The compilers at work for one recipe, so that all can be ended at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen] = set()
        self._stopped = False

    def run(self, command: list[str], learner) -> None:
        from .diagnostics import compile_error
        with self._lock:
            if self._stopped:
                return
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, env=_environment(), start_new_session=True)
            self._processes.add(process)
        try:
            _, stderr = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            _kill(process)
            raise ToolError(messages.text("compiler.too_slow", seconds=TIMEOUT_S)) from None
        except BaseException:
            _kill(process)
            raise
        finally:
            with self._lock:
                self._processes.discard(process)
        if process.returncode and not self._stopped:
            filename, text = learner or (None, None)
            raise compile_error(stderr.decode(errors="replace"), filename=filename, text=text, command=command)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._processes:
                _kill(process)


def _kill(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)  # its own session: this is the driver and its cc1plus, nobody else
    except (ProcessLookupError, PermissionError):
        pass


# ---- keeping the cache small

def prune(max_bytes: int = CACHE_BYTES) -> int:
    """Delete the least recently used entries until the cache holds at most max_bytes. Returns the bytes freed.

    An entry that is being built, or was used within the last hour, stays whatever the budget says.
    """
    home, now, freed = _build_dir(), time.time(), 0
    entries = []
    for folder in home.iterdir():
        if folder.is_dir():
            used = folder.stat().st_mtime
            entries.append((used, folder, sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())))
    total = sum(size for _, _, size in entries)
    for used, folder, size in sorted(entries, key=lambda e: e[0]):
        left_over = folder.name.startswith(".tmp-")  # of a killed process
        if now - used > _HOUR_S and (left_over or total > max_bytes) and _remove(folder):
            total -= size
            freed += size
    return freed


def _remove(folder: Path) -> bool:
    lock = Path(f"{folder}.lock")
    with open(lock, "a", encoding="ascii") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass
        shutil.rmtree(folder, ignore_errors=True)
        lock.unlink(missing_ok=True)
    return True


def _prune_sometimes(home: Path) -> None:
    """Once a day, after a build: walking the cache at every build would cost more than it saves."""
    stamp = home / ".pruned"
    try:
        if time.time() - stamp.stat().st_mtime < _DAY_S:
            return
    except FileNotFoundError:
        pass
    stamp.touch()
    prune()
