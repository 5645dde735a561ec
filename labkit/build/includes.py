"""Which files a compilation reads: the sources, and every header they reach in the given folders.

System headers are not followed: they change with the compiler, whose version is in every cache key.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.source.scan import mask

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include(?:_next)?[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.M)
_COMPUTED = re.compile(rb"^[ \t]*#[ \t]*include(?:_next)?[ \t]*[A-Za-z_]", re.M)
_DIR_FLAGS = ("-isystem", "-iquote", "-I")


@dataclass(frozen=True)
class _Seen:
    """A file as it was when last read. includes: (written with quotes, path)."""

    stamp: tuple[int, int, int]
    digest: bytes
    includes: tuple[tuple[bool, str], ...]


_memo: dict[str, _Seen] = {}  # a stat is 50 times cheaper than reading and hashing a header again


def includes(text: bytes) -> tuple[tuple[bool, str], ...]:
    return tuple((bool(m[1]), os.fsdecode(m[1] or m[2])) for m in _INCLUDE.finditer(text))


def _see(path: str) -> _Seen:
    stat = os.stat(path)
    stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    seen = _memo.get(path)
    if seen is None or seen.stamp != stamp:
        data = Path(path).read_bytes()
        binary = b"\0" in data[:512]
        seen = _memo[path] = _Seen(stamp, hashlib.sha256(data).digest(), () if binary else includes(data))
    return seen


def digest(path: str | os.PathLike) -> bytes:
    """SHA-256 of a file, remembered while its stat is the same. Raises FileNotFoundError."""
    return _see(str(path)).digest


def folders(flags: Sequence[str]) -> list[str]:
    """The include folders that compiler flags name, in order."""
    found, take = [], False
    for flag in flags:
        if take:
            found.append(flag)
        else:
            found += [flag[len(d) :] for d in _DIR_FLAGS if flag.startswith(d) and len(flag) > len(d)][:1]
        take = not take and flag in _DIR_FLAGS
    return found


class _Look:
    """Whether there is a file, during one search: each folder is looked at once, and listed anew only where it changed
    since it was listed. A search asks some hundred times for a place in a dozen folders.
    """

    _SETTLED_NS = 10**8  # a file that comes within the same tick of the clock leaves its folder's time as it was

    listed: dict[str, tuple[int, frozenset[str]]] = {}

    def __init__(self):
        self.now: dict[str, frozenset[str]] = {}

    def __call__(self, path: str) -> bool:
        folder, name = os.path.split(path)
        names = self.now.get(folder)
        if names is None:
            names = self.now[folder] = self._names(folder or os.curdir)
        return name in names

    def _names(self, folder: str) -> frozenset[str]:
        try:
            changed = os.stat(folder).st_mtime_ns
            known = self.listed.get(folder)
            if known and known[0] == changed:
                return known[1]
            with os.scandir(folder) as entries:
                found = list(entries)
        except OSError:
            return frozenset()
        names = frozenset(e.name for e in found if e.is_file())
        # where a link leads to may change without the folder
        if time.time_ns() - changed > self._SETTLED_NS and not any(e.is_symlink() for e in found):
            self.listed[folder] = changed, names
        return names


_PLAIN_NAMES = os.name == "posix" and sys.platform != "darwin"  # elsewhere a file answers to other names than its own


def reach(paths: Iterable[str | os.PathLike], texts: Iterable[bytes], dirs: Sequence[str]) -> dict[str, bytes]:
    """path -> digest of the files, and of all that they or the texts include from `dirs`. A folder means its files."""
    todo = [str(p) for path in paths for p in _files(Path(path))]
    is_file = _Look() if _PLAIN_NAMES else os.path.isfile
    for text in texts:
        todo += _resolve(includes(text), dirs, "", is_file)
    found: dict[str, bytes] = {}
    while todo:
        path = todo.pop()
        if path not in found:
            seen = _see(path)
            found[path] = seen.digest
            todo += _resolve(seen.includes, dirs, os.path.dirname(path), is_file)
    return found


def reads_from(here: Path, text: bytes, dirs: Sequence[str]) -> bool:
    """Whether the text, or what it includes, gets a file from the folder `here` when quoted includes look there first.
    True as well where an include's name is a macro's: then only the preprocessor knows."""
    if _COMPUTED.search(text):
        return True
    without = reach([], [text], dirs)
    wanted = {name.partition("/")[0] for _, name in includes(text)}
    wanted.update(name.partition("/")[0] for path in without for _, name in _see(path).includes)
    if wanted.isdisjoint({"..", "."}) and wanted.isdisjoint(os.listdir(here)) and _PLAIN_NAMES:
        return False
    return reach([], [text], [str(here), *dirs]) != without


def _files(path: Path) -> Iterable[Path]:
    if path.is_dir():
        return sorted(p for p in path.rglob("*") if p.is_file())
    return [path]


def _resolve(
    wanted: Iterable[tuple[bool, str]], dirs: Sequence[str], here: str, is_file: Callable[[str], bool] = os.path.isfile
) -> Iterable[str]:
    for quoted, name in wanted:
        for folder in [here, *dirs] if quoted and here else dirs:
            path = os.path.join(folder, name)
            if is_file(path):
                plain = os.path.normpath(path)
                yield (
                    plain if plain == path or is_file(plain) else path
                )  # behind a link to a folder, ".." is another place
                break


def text_of(source: str, here: Path, dirs: Sequence[str] = ()) -> str:
    """The text of all that a source includes with quotes, from its own folder or `dirs`."""
    quoted = [(q, name) for q, name in includes(source.encode()) if q]
    files = [p for p in _resolve(quoted, dirs, str(here)) if os.path.isfile(p)]
    return "\n".join(Path(p).read_text(encoding="utf-8", errors="replace") for p in reach(files, [], list(dirs)))


# ---- headers put in place of the lines that include them

_QUOTED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*$', re.M)
_LINE = re.compile(r'^[ \t]*#[ \t]*line[ \t]+(\d+)(?:[ \t]+"([^"\n]*)")?[^\n]*\n', re.M)


def in_place(path: Path, text: str, dirs: Sequence[str], wanted: Callable[[str], bool], seen=None) -> str:
    """The text of the file `path` with every header that is `wanted`, by its text, in place of its include line, and
    every header that leads to one: what the compiler includes by itself cannot be changed. No line of the file moves.
    """
    seen = set() if seen is None else seen
    out, at = [], 0
    visible = mask(text, directives=False)
    for m in _QUOTED.finditer(text):
        if visible[m.start() : m.end()].strip()[:1] != "#":
            continue  # commented out
        header = _found(m[1], path.parent, dirs)
        if header is None or not _leads_to(header, dirs, wanted, set()):
            continue
        line, file = _logical(text, m.start(), path)
        body = ""
        if str(header) not in seen:
            inside = _read(header)
            if re.search(r"^[ \t]*#[ \t]*pragma[ \t]+once", inside, re.M):
                seen.add(str(header))
                inside = re.sub(r"^([ \t]*#[ \t]*pragma[ \t]+once)", "//", inside, flags=re.M)
            inside = _at_home(header, in_place(header, inside, dirs, wanted, seen))
            body = f'#line 1 "{header}"\n' + inside.rstrip("\n") + "\n"
        out += [text[at : m.start()], body, f'#line {line + 1} "{file}"']
        at = m.end()
    return "".join([*out, text[at:]])


def _logical(text: str, at: int, path: Path) -> tuple[int, str]:
    """(line, file) of a place of the text, as its own `#line` says."""
    said = list(_LINE.finditer(text[:at]))
    if not said:
        return text.count("\n", 0, at) + 1, str(path)
    return int(said[-1][1]) + text.count("\n", said[-1].end(), at), said[-1][2] or str(path)


def _read(header: Path) -> str:
    return header.read_text(encoding="utf-8", errors="replace").removeprefix("\ufeff").replace("\r\n", "\n")


def _at_home(header: Path, text: str) -> str:
    """The text of a header that is put into another file: an include that starts from its own folder says where."""

    def full(m: re.Match) -> str:
        beside = _found(m[1], header.parent, [])
        return m[0].replace(f'"{m[1]}"', f'"{beside}"') if beside and not os.path.isabs(m[1]) else m[0]

    return _QUOTED.sub(full, text)


def _found(name: str, here: Path, dirs: Sequence[str]) -> Path | None:
    for folder in [str(here), *dirs]:
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(path):
            return Path(path)
    return None


def _leads_to(header: Path, dirs: Sequence[str], wanted: Callable[[str], bool], seen: set[Path]) -> bool:
    if header in seen:
        return False
    seen.add(header)
    text = _read(header)
    if wanted(text):
        return True
    found = (_found(m[1], header.parent, dirs) for m in _QUOTED.finditer(text))
    return any(_leads_to(h, dirs, wanted, seen) for h in found if h is not None)
