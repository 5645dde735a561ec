"""Precompiled headers (PCH): what many compilations read first is parsed once.

    beside(cxx, version, words, text, reached)  of a kernel: the folder to search before the twin's headers, or None
    included(cxx, version, words, header, folder)  for many sources of one build: the file for `-include`, or None
    forced(cxx, version, words)      of an operator's C++ side: its words with their `-include` precompiled

For a kernel, an edit then costs the learner's own lines only. g++ takes `kernel_operator.h.gch` from an include folder
in place of `kernel_operator.h` itself, and only where that changes nothing: it compares the standard and other options,
and every macro that is defined before the include or on the command line with the names that the header mentions.
Where they differ it reads the header as usual. What it does not compare is checked here: builtins that are switched
off, and folders of the learner's that stand before the twin's. With other compilers than g++ the header is read.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from labkit.build import includes
from labkit.build.cache import find, keep, key
from labkit.build.process import TooSlow, Workers, c_locale

HEADER = "kernel_operator.h"
_FILE = f"{HEADER}.gch"
_FORCED = "adapter_headers.h"
_FORMAT = "2"  # part of the key: raise it when the way of making changes
_TIMEOUT_S = 120.0
# what the two compilations must share
_OPTIONS = re.compile(r"-(?:O\w*|g\d?|std=[\w+]+|f[\w=+-]+|m[\w=+.-]+|pthread)$")
_OWN_MACRO = re.compile(r"-DTWIN_\w+(?:=.*)?$")  # the kind of core
_NO_BUILTIN = "-fno-builtin-"
_closures: dict[str, tuple] = {}  # by folder: what the last compilation reached, and what came of it
_failed: set[str] = set()  # keys that could not be made here, so that it is tried once and not at every compilation


def beside(
    cxx: str, version: str, words: Sequence[str], text: bytes, reached: Mapping[str, bytes]
) -> tuple[Path, str] | None:
    """(folder with the PCH, include folder to name it before) for a compilation of `text`; None where there is no use.

    version: first line of `cxx --version`. words: every option of the compilation. reached: path -> digest of all
    that the text includes (includes.reach). Makes the PCH when it is not there: half a second and 17 MB, once for each
    kind of core, standard and compiler. Never raises for a PCH that cannot be made: the header itself is always there.
    """
    first = next(iter(includes.includes(text)), None)
    if first is None or first[1] != HEADER or "clang" in version.lower():
        return None
    taken = _split(words)
    if taken is None:
        return None
    options, names, folders = taken
    home = next((d for d in folders if os.path.join(d, HEADER) in reached), None)
    if home is None:
        return None
    wanted = _closure(home, includes.folders(words), reached)
    if wanted is None:
        return None
    if names and _builtins(cxx, version, tuple(names)):
        return None
    parts = [part for item in sorted(wanted.items()) for part in item]
    digest = key(_FORMAT, version, platform.machine(), *options, *parts)
    if digest in _failed:
        return None
    command = [cxx, *options, f"-I{home}", "-x", "c++-header", os.path.join(home, HEADER)]

    def make(work: Path) -> None:
        # g++ takes a PCH for the first include only. For a later one of the same name it wants a header beside it.
        (work / HEADER).write_text(f'#include_next "{HEADER}"\n', encoding="utf-8")
        _make(command, work / _FILE)

    try:
        return keep("kernel-headers", digest, _FILE, make).parent, home
    except (_NotMade, OSError):
        _failed.add(digest)
        return None


def included(cxx: str, version: str, words: Sequence[str], header: Path, folder: Path) -> Path | None:
    """A file in `folder` for `-include`, with its PCH, that stands for `header` in compilations with these words.

    The file includes the header, for the case that g++ does not take the PCH. None where there is no use or the PCH
    could not be made. The caller makes sure that the sources include the header themselves.
    """
    taken = None if "clang" in version.lower() else _split(words)
    if taken is None:
        return None
    options, _, folders = taken
    folder.mkdir()
    first = folder / header.name
    first.write_text(f'#include "{header}"\n', encoding="utf-8")
    try:
        _make([cxx, *options, *(f"-I{d}" for d in folders), "-x", "c++-header", str(first)], Path(f"{first}.gch"))
    except (_NotMade, OSError):
        return None
    return first


def forced(cxx: str, version: str, words: Sequence[str], *, make: bool = False) -> tuple[list[str], Path] | None:
    """(`words` with one precompiled header for all of their `-include`, its folder); None where there is none.

    make: makes it when it is not there. PyTorch's headers cost 11 to 21 CPU s and 240 to 460 MB once, and an adapter
    half of its 6 to 13 CPU s from then on: worth it ahead of work (labkit prebuild), not in front of the first adapter.
    They are not read for the key: PyTorch's version is among the words (labkit.device.build.torch_flags).
    """
    if "-include" not in words or "clang" in version.lower():
        return None
    headers, quoted = (_values(words, option) for option in ("-include", "-iquote"))
    shared = [f"-I{d}" for d in includes.folders(words) if d not in quoted]
    alone = {"-include", "-iquote", *headers, *quoted}
    options = [w for w in words if w not in alone and not w.startswith("-I")]
    own = [header for header in headers if os.path.isabs(header)]
    closure = includes.reach(own, [], [word[2:] for word in shared])
    files = [part for item in sorted(closure.items()) for part in item]
    digest = key(_FORMAT, version, platform.machine(), *options, *headers, *files)

    def write(work: Path) -> None:
        (work / _FORCED).write_text("".join(f'#include "{h}"\n' for h in headers), encoding="utf-8")
        _make([cxx, *options, *shared, "-x", "c++-header", str(work / _FORCED)], work / f"{_FORCED}.gch")

    if make and digest not in _failed:
        try:
            keep("adapter-headers", digest, f"{_FORCED}.gch", write)
        except (_NotMade, OSError):
            _failed.add(digest)
    made = find("adapter-headers", digest, f"{_FORCED}.gch")
    if made is None:
        return None
    others = [w for i, w in enumerate(words) if "-include" not in (w, words[i - 1] if i else "")]
    return ["-include", str(made.parent / _FORCED), *others], made.parent


def _values(words: Sequence[str], option: str) -> list[str]:
    return [value for word, value in zip(words, words[1:]) if word == option]


def drop(folder: Path) -> None:
    """Removes a PCH that the compiler could not use; the next compilation makes it anew."""
    for file in folder.glob("*.gch"):
        try:
            file.unlink(missing_ok=True)
        except OSError:
            pass  # the cache of another user: every compilation then falls back to the header


def failed_on_pch(stderr: str) -> bool:
    """Whether a compiler's failure may be the PCH's own and not the text's:
    unreadable, cut short, an internal error.
    """
    return bool(re.search(r"\bPCH\b|\.gch\b|internal compiler error|Killed|Bus error|Segmentation fault", stderr))


def _closure(home: str, folders: Sequence[str], reached: Mapping[str, bytes]) -> dict[str, bytes] | None:
    """path -> digest of the header and all that it includes;
    None where some of that would be read from another folder.
    """
    known = _closures.get(home)
    if known is None or known[:2] != (folders, reached):  # the same files with the same contents include the same
        alone, here = (includes.reach([os.path.join(home, HEADER)], [], dirs) for dirs in ([home], folders))
        known = _closures[home] = folders, reached, alone if alone == here else None
    return known[2]


class _NotMade(Exception):
    """The compiler made no PCH."""


def _make(command: list[str], target: Path) -> None:
    try:
        code, _ = Workers().run([*command, "-o", str(target)], timeout=_TIMEOUT_S)
    except TooSlow:
        raise _NotMade from None
    if code or not target.exists():
        raise _NotMade


def _split(words: Sequence[str]) -> tuple[list[str], list[str], list[str]] | None:
    """(options that the PCH is made with, builtins switched off, -I folders) of a compilation's words.

    None where a word is among them whose effect on the header is not known (`-include`, `-U`, ...).
    """
    options, names, folders = [], [], []
    todo = iter(words)
    for word in todo:
        if word == "-iquote":
            next(todo, None)
        elif word in ("--param", "-mllvm"):
            options += [word, next(todo, "")]
        elif word.startswith("-I") and len(word) > 2:
            folders.append(word[2:])
        elif word.startswith(_NO_BUILTIN) and len(word) > len(_NO_BUILTIN):
            names.append(word[len(_NO_BUILTIN) :])
        elif _OPTIONS.match(word) or _OWN_MACRO.match(word):
            options.append(word)
        elif not word.startswith("-D"):  # the learner's own macros: g++ compares those
            return None
    return options, names, folders


@lru_cache(maxsize=256)
def _builtins(cxx: str, _version: str, names: tuple[str, ...]) -> bool:
    """Whether one of `names` is a builtin function of the compiler.
    A PCH brings its builtins along, -fno-builtin-x or not.
    """
    text = (
        "#ifndef __has_builtin\nint yes;\n#else\n"
        + "".join(f"#if __has_builtin({n})\nint yes;\n#endif\n" for n in names)
        + "#endif\n"
    )
    try:
        run = subprocess.run(
            [cxx, "-E", "-P", "-x", "c++", "-"], input=text, capture_output=True, text=True, timeout=60, env=c_locale()
        )
    except (OSError, subprocess.SubprocessError):
        return True
    return run.returncode != 0 or "yes" in run.stdout
