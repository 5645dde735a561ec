"""The folder of built things: content-addressed, filled by a rename, shared between processes, kept small.

An entry is `cache_dir()/build/<name>-<key>/`. It appears all at once, so that it is either complete or absent; two
processes that want the same entry make it once, by a file lock. What is made, and what goes into the key, is
up to the callers (labkit.build.compiler, labkit.build.bisheng).
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
import struct
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from labkit import paths

CACHE_BYTES = 2 << 30
_DAY_S = 86400.0
_SEAL, _IN_USE = ".sealed", ".in-use-"


def key(*parts: str | bytes) -> str:
    """A short digest of the parts, each with its length: ("ab", "c") is not ("a", "bc")."""
    h = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else os.fsencode(part)
        h.update(len(data).to_bytes(8, "little") + data)
    return h.hexdigest()[:24]


def keep(
    name: str, digest: str, file: str, make: Callable[[Path], None], announce: Callable[[], None] | None = None
) -> Path:
    """Path of `file` in the entry `<name>-<digest>`; made by make(folder) when it is not there yet.

    make fills an empty folder, which becomes the entry when make returns; when it raises, nothing is kept.
    announce() is called once before, and only when something is really made; not under LABKIT_ANNOUNCE=off.
    """
    home = _home()
    entry = home / f"{name}-{digest}"
    result = entry / file
    if _touch(result, entry):  # one that is taken over from another cache keeps its path, which other keys hold
        return entry.resolve() / file if entry.is_symlink() else result
    with _explained(home), _locked(entry):
        if _touch(result, entry):  # another process made it while this one waited
            return result
        if announce is not None and os.environ.get("LABKIT_ANNOUNCE") != "off":
            announce()
        work = Path(tempfile.mkdtemp(prefix=".tmp-", dir=home))
        try:
            make(work)
            _publish(work, entry, result)
            _note_use(entry)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    _prune_sometimes(home)
    return result


def find(name: str, digest: str, file: str) -> Path | None:
    """Path of `file` in the entry `<name>-<digest>`; None where it is not there."""
    entry = _home() / f"{name}-{digest}"
    return entry / file if _whole(entry, entry / file) else None


def _home() -> Path:
    home = paths.cache_dir() / "build"
    with _explained(home):
        home.mkdir(parents=True, exist_ok=True)
    return home


@contextmanager
def _explained(home: Path):
    """A folder that cannot be written to, or is none, is an error that says what to try."""
    try:
        yield
    except OSError as error:
        try_this = {
            errno.EEXIST: "a file stands where that folder must be: move it",
            errno.ENOTDIR: "a file stands where that folder must be: move it",
            errno.ENOSPC: "the disk is full: make room",
            errno.EDQUOT: "your share of the disk is full: make room",
            errno.EROFS: "it cannot be written to",
            errno.EACCES: "you may not write there: mend its permissions",
            errno.EPERM: "you may not write there: mend its permissions",
        }.get(error.errno)
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)  # a write knows no name
        if try_this is None or not full and not str(error.filename).startswith(str(home)):
            raise
        text = f"the lab keeps what it builds in {home}, but {try_this}, or set LABKIT_CACHE to another folder"
        raise OSError(error.errno, text, error.filename) from error


# ---- whether an entry is as it was made


def _seal(work: Path) -> None:
    """Notes each file's size, time and digest: a later damage to any of them shows without knowing its format."""
    files = (p for p in sorted(work.rglob("*")) if p.is_file() and not p.is_symlink())
    held = {str(p.relative_to(work)): [(s := p.stat()).st_size, s.st_mtime_ns, _digest(p)] for p in files}
    (work / _SEAL).write_text(json.dumps(held), encoding="utf-8")


def _digest(file: Path) -> str:
    h = hashlib.sha256()
    with open(file, "rb") as data:
        while part := data.read(1 << 20):
            h.update(part)
    return h.hexdigest()


def _unharmed(entry: Path) -> bool:
    """Whether all files are as the seal says. Contents are read only where the time is another, as in a copy."""
    try:
        held = json.loads((entry / _SEAL).read_bytes())
        for name, (size, time_ns, digest) in held.items():
            found = os.lstat(entry / name)
            if not stat.S_ISREG(found.st_mode) or found.st_size != size or not os.access(entry / name, os.R_OK):
                return False
            if found.st_mtime_ns != time_ns and _digest(entry / name) != digest:
                return False
    except FileNotFoundError:
        return not (entry / _SEAL).exists()  # made before there were seals
    except (OSError, ValueError, TypeError, AttributeError):
        return False
    return True


def _whole(entry: Path, result: Path) -> bool:
    """Whether the result is there and complete: by the seal, and as far as its format tells, for what was cut while
    it was made (a full disk leaves a part of a library).
    """
    try:
        with open(result, "rb") as file:
            head = file.read(64)
            if head.startswith(b"\x7fELF"):
                # a linker writes the table of sections last: where it begins, the size of an entry, their number
                table, size, count = *struct.unpack_from("<Q", head, 40), *struct.unpack_from("<HH", head, 58)
                if os.fstat(file.fileno()).st_size < table + size * count:
                    return False
            elif not head and result.suffix == ".so":
                return False
    except IsADirectoryError:
        pass
    except (OSError, struct.error):
        return False
    return _unharmed(entry)


def _touch(result: Path, entry: Path) -> bool:
    """Whether the result is there; marks its entry as used, for prune()."""
    if not _whole(entry, result):
        return False
    try:
        os.utime(entry)
    except OSError:
        pass  # a read-only cache can still be read
    _note_use(entry)
    return True


# The names of the entries that this process has asked for stand in a file that it keeps locked for as long as it lives:
# a session of days starts processes from what it asked for once. By the folder; None where there can be no such file.
_uses: dict[Path, IO[str] | None] = {}
_noted: set[Path] = set()


def _note_use(entry: Path) -> None:
    if entry.is_symlink():
        entry = entry.resolve()
    if entry in _noted:
        return
    home = entry.parent
    if home not in _uses:
        _uses.setdefault(home, _list_of_uses(home))
    try:
        if names := _uses[home]:
            names.write(f"{entry.name}\n")
            names.flush()
    except OSError:
        return  # a full disk
    _noted.add(entry)


def _list_of_uses(home: Path) -> IO[str] | None:
    file = home / f"{_IN_USE}{os.getpid()}-{os.urandom(4).hex()}"
    try:
        opened = open(file, "a", encoding="utf-8")
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)  # a forked child shares it
    except OSError:
        return None
    atexit.register(_forget_uses, file, os.getpid())
    return opened


def _forget_uses(file: Path, pid: int) -> None:
    if os.getpid() == pid:
        file.unlink(missing_ok=True)


def _used(home: Path) -> set[str]:
    """The names of the entries that processes use. The lists of those that have ended are taken away."""
    names: set[str] = set()
    for file in home.glob(f"{_IN_USE}*"):
        try:
            with open(file, "r+", encoding="utf-8") as held:  # NFS locks nothing that is open for reading
                try:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if time.time() - file.stat().st_mtime > _DAY_S:  # else its process may be about to lock it
                        file.unlink()
                except BlockingIOError:
                    names.update(held.read().split("\n"))
        except OSError:
            continue  # another process has taken it away
    return names


def _publish(work: Path, entry: Path, result: Path) -> None:
    _seal(work)
    try:
        os.rename(work, entry)
    except OSError:
        if not _whole(entry, result):  # not an entry that another process finished: a damaged one, or none at all
            _clear(entry)
            os.rename(work, entry)


def _clear(path: Path) -> None:
    """Takes away whatever is there: a folder, also one that may not be read, a file, a link that leads nowhere."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    path.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


def _lock(entry: Path) -> Path:
    """The file of an entry's lock; what is none and has its name is taken away."""
    lock = Path(f"{entry}.lock")
    if lock.is_dir() or lock.is_symlink():  # nothing of ours
        _clear(lock)
    return lock


@contextmanager
def _locked(entry: Path):
    """One thread of one process at a time makes an entry. Where the file system has no locks, the rename is enough."""
    with open(_lock(entry), "a", encoding="ascii") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:
            pass
        yield  # closing the file releases the lock


# ---- keeping it small


def prune(max_bytes: int = CACHE_BYTES) -> int:
    """Delete the least recently used entries until the cache holds at most max_bytes. Returns the bytes freed.

    An entry that is being made, was used within the last day, or by a process that still runs, stays whatever the
    budget says: a running notebook may still have to start a process from it.
    """
    now, freed, used_now = time.time(), 0, _used(_home())
    entries = sorted(_entries(), key=lambda e: e[0])
    total = sum(size for _, _, size in entries)
    for used, folder, size in entries:
        left_over = folder.name.startswith(".tmp-")  # of a killed process
        if folder.name in used_now or now - used <= _DAY_S:
            continue
        if (left_over or total > max_bytes) and _remove(folder):
            total -= size
            freed += size
    return freed


def _entries() -> Iterable[tuple[float, Path, int]]:
    """(last use, folder, bytes) of every entry. Not of one that is another cache's: it has no room here."""
    for folder in _home().iterdir():
        if folder.is_dir() and not folder.is_symlink() and folder.suffix != ".lock":
            try:
                yield folder.stat().st_mtime, folder, sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
            except FileNotFoundError:
                continue  # another process published or removed it meanwhile


def _remove(folder: Path) -> bool:
    lock = _lock(folder)
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
    """Once a day, after something was made: walking the cache every time would cost more than it saves."""
    stamp = home / ".pruned"
    try:
        if time.time() - stamp.stat().st_mtime < _DAY_S:
            return
    except FileNotFoundError:
        pass
    stamp.touch()
    prune()
