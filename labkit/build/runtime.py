"""The twin's compiled half: one runtime library and the runner process, built once a machine.

A kernel is compiled against `twin/include` alone; what its calls do is in `libtwin`, which only the runner loads.
"""

from __future__ import annotations

import os
import re
import struct
import sys
import time
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from labkit import messages
from labkit.build import compiler, headers, process, shipped
from labkit.paths import twin_dir
from labkit.source.kernels import CUBE, MIX_1_2, VECTOR, CoreMix

# The instruction set that the runtime is compiled for: the host's own, unless a test asks for an older one
# (LABKIT_MARCH=x86-64). The results are the same bits on each.
_MARCH = os.environ.get("LABKIT_MARCH") or "native"

# No contraction into fused multiply-add: results must not depend on the host.
FLAGS = (
    "-std=c++17",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fPIC",
    "-pthread",
    "-ftls-model=initial-exec",
)  # libtwin is there from the runner's start: its thread-locals need no look-up

# What computes on whole vectors is compiled for the instruction set, the rest for any processor of the machine's kind.
# All that includes lanes/lanes.h must be among the first: its vectors are as long as the instruction set has them, and
# the linker keeps one copy of an inline function that two sources have.
_WIDE = ("-O3", f"-march={_MARCH}")
_WIDE_SOURCES = ("lanes/*", "cube/gemm.cpp", "memory/copy.cpp", "library/*", "tiling/math.cpp")
_PLAIN = ("-O2",)
_PLAIN_SOURCES = ("launch/loops.cpp", "launch/unordered_reads.cpp")
# Compiled quickly rather than well, since no instruction runs through it: a product's plan, tiling, the host's calls,
# what comes before and after a launch.
_COLD = ("-O1",)
_COLD_SOURCES = ("base/*", "matmul/*", "tiling/*", "host/*", "launch/*", "core/crash_site.cpp")
_OPTIMISED = ((_WIDE, _WIDE_SOURCES), (_PLAIN, _PLAIN_SOURCES), (_COLD, _COLD_SOURCES), (_PLAIN, ("*",)))


def unit_flags(source: Path) -> tuple[str, ...]:
    """How one of the twin's sources is optimised: by the first pattern that fits."""
    return next(flags for flags, patterns in _OPTIMISED if any(source.match(pattern) for pattern in patterns))


_SRC = twin_dir() / "src"
_INCLUDES = (f"-I{headers.TREES['kernel']}", f"-I{_SRC}")  # sources include headers of other rooms as folder/name


class Progress:
    """Shows on standard error how far a build, or another long work, is: progress(done, all).
    words: the beginning of its messages' keys.

    On a terminal one line that is written over; else a line at each quarter, for a log. In a notebook's kernel nothing:
    what is on standard error there becomes part of the notebook, and would be another text at every run.
    """

    def __init__(self, stream=None, clock=time.monotonic, words: str = "runtime") -> None:
        self._words = words
        self._stream, self._clock, self._began, self._quarter = stream or sys.stderr, clock, clock(), 0
        self._terminal = bool(getattr(self._stream, "isatty", lambda: False)())
        self._silent = "ipykernel" in type(self._stream).__module__

    def __call__(self, done: int, of: int) -> None:
        if self._silent or not done or of < 4:
            return
        quarter = 4 * done // of
        if self._terminal:
            self._stream.write("\r" + self._text(done, of) + "\x1b[K" + ("\n" if done == of else ""))
        elif quarter > self._quarter:
            self._stream.write(self._text(done, of) + "\n")
        self._quarter = quarter
        self._stream.flush()

    def _text(self, done: int, of: int) -> str:
        took = self._clock() - self._began
        if done == of:
            return messages.text(f"{self._words}.built", of=of, seconds=f"{took:.0f}")
        if 10 * done < of:  # too early to tell: files differ by a factor of ten
            return messages.text(f"{self._words}.files", done=done, of=of)
        return messages.text(f"{self._words}.files_left", done=done, of=of, seconds=f"{took / done * (of - done):.0f}")


def _jobs() -> int:
    """Compilations at a time: one for each processor that this process may use; each takes up to 0.3 GB of memory."""
    return max(2, min(8, len(os.sched_getaffinity(0))))


@lru_cache(maxsize=1)
def library() -> Path:
    """Path of libtwin. Raises CompileError, ToolError."""
    if brought := shipped.twin("libtwin.so"):
        return brought
    programs = (_SRC / "launch" / "runner.cpp", program_start())  # have a main of their own
    sources = sorted(p for p in _SRC.glob("*/*.cpp") if p not in programs)
    return compiler.build(
        sources,
        flags=[*FLAGS, *_INCLUDES],
        name="libtwin",
        unit_flags=unit_flags,
        jobs=_jobs(),
        progress=Progress(),
        headers=[_SRC / "core" / "machine.h", _SRC / "library" / "call.h"],
        announce=lambda _: messages.note(messages.text("runtime.building")),
    )


@lru_cache(maxsize=1)
def runner() -> Path:
    """Path of the runner program, which finds libtwin by its absolute path."""
    return shipped.twin("twin-runner") or link_runner(str(library().parent))


process.confiner = runner


def link_runner(finds: str) -> Path:
    """The runner that finds libtwin in the folder `finds`, by its name alone: the path at which it was linked is not
    there on the machine that a wheel goes to."""
    lib = library()
    return compiler.build(
        [_SRC / "launch" / "runner.cpp"],
        kind="exe",
        name="twin-runner",
        deps=[lib],
        flags=[*FLAGS, *_COLD, *_INCLUDES],
        libs=[f"-L{lib.parent}", f"-l:{lib.name}", f"-Wl,-rpath,{finds}", "-ldl"],
    )


@lru_cache(maxsize=1)
def program_start() -> Path:
    """The source that every program of a learner is linked with."""
    return _SRC / "host" / "program_start.cpp"


# ---- what a compiled kernel reaches of the runtime, and so which cores have work for it

INSPECTED = ("-fno-inline", "-ffunction-sections")  # so that a call is seen as one, and a function alone
_UNDEFINED, _RESERVED = 0, 0xFF00  # section numbers of ELF


def cores_of(cube: Path, vector: Path, kernel: str, guess: CoreMix) -> CoreMix:
    """The cores that a kernel has work for, by the functions of the twin that its compiled code reaches, as CANN's
    compiler takes its kind from its instructions. What is written and never compiled (a template that nobody
    instantiates, the other branch of an `if constexpr`) does not count.

    cube, vector: the objects of the compilations for each kind of core, made with INSPECTED; kernel: a C name, or a
    function's plain name; guess: what its text looks like, which stands where the objects do not tell.
    """
    on_cube, on_vector = (reached(file, kernel) for file in (cube, vector))
    if not on_cube or not on_vector:
        return guess
    calls, seen = _functions(), on_cube | on_vector
    if seen & calls["matmul"]:
        return guess if guess[0] else MIX_1_2
    has_cube = bool(on_cube & (calls["cube"] | _places("1 2 3 4 5 6 7")))  # TPosition::A1 to CO1
    has_vector = bool(on_vector & (calls["vector"] | _places("9 10 11")))  # VECIN, VECOUT, VECCALC
    apart = on_cube != on_vector  # the two kinds of core run different code
    if has_cube:
        return guess if guess[0] and guess[1] and (has_vector or apart) else MIX_1_2 if has_vector or apart else CUBE
    idle = not on_cube & calls["any"]
    return VECTOR if has_vector and (idle or not apart) else guess


@lru_cache(maxsize=1)
def _functions() -> dict[str, frozenset[str]]:
    """kind of work -> the runtime's functions for it, by the headers that declare them; "any": what is work at all."""

    def declared(*texts: str) -> frozenset[str]:
        return frozenset(n for text in texts for n in re.findall(r"^[a-z][\w:<>]*[ &*]+(\w+)\(.*Here", text, re.M))

    def room(name: str) -> list[str]:
        return [p.read_text(encoding="utf-8") for p in (headers.TREES["kernel"] / "twin" / name).glob("*.h")]

    abi = (headers.TREES["kernel"] / "twin" / "base" / "abi.h").read_text(encoding="utf-8")
    vector, _, rest = abi.partition("// ---- vector")[2].partition("// ---- data movement")
    kinds = dict(
        cube=declared(*room("cube")),
        matmul=declared(*room("matmul")),
        vector=declared(vector, *room("vector"), *room("library")),
    )
    return kinds | {"any": frozenset().union(*kinds.values(), declared(rest.partition("// ---- system")[0]))}


def _places(numbers: str) -> frozenset[str]:
    return frozenset(f"TPosition {n}" for n in numbers.split())


def reached(file: Path, kernel: str) -> set[str]:
    """Names of the twin's functions that the code of a function reaches in an object file, and "TPosition 9" for each
    queue or buffer on its way; empty where there is no such function, or no ELF file of 64 bits.
    """
    data = file.read_bytes()
    if data[:5] != b"\x7fELF\x02":
        return set()
    at, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, at + 64 * i) for i in range(count)]
    table = next((s for s in sections if s[1] == 2), None)  # SHT_SYMTAB
    if table is None:
        return set()
    words = sections[table[6]]
    symbols = []
    for offset in range(table[4], table[4] + table[5], 24):
        name, _, _, home = struct.unpack_from("<IBBH", data, offset)
        begin = words[4] + name
        symbols.append((data[begin : data.index(0, begin)].decode("ascii", "replace"), home))
    homes: dict[int, list[str]] = {}
    for name, home in symbols:
        if name and _UNDEFINED < home < _RESERVED:
            homes.setdefault(home, []).append(name)
    uses: dict[int, set[int]] = {}
    for s in sections:
        if s[1] == 4:  # SHT_RELA: what section s[7] refers to
            found = uses.setdefault(s[7], set())
            found.update(struct.unpack_from("<Q", data, o + 8)[0] >> 32 for o in range(s[4], s[4] + s[5], 24))
    plain = f"{len(kernel)}{kernel}"
    todo = [h for h, names in homes.items() if any(n == kernel or (n[:2] == "_Z" and plain in n) for n in names)]
    names, seen = set(), set()
    while todo:
        home = todo.pop()
        if home in seen:
            continue
        seen.add(home)
        names.update(homes.get(home, ()))
        for number in uses.get(home, ()):
            name, target = symbols[number]
            names.add(name)
            if _UNDEFINED < target < _RESERVED:
                todo.append(target)
    return set(_short(names))


def _short(names: Iterable[str]) -> Iterable[str]:
    for name in names:
        m = re.match(r"_ZN4twin(\d+)", name)
        if m:
            yield name[m.end() : m.end() + int(m[1])]
        for one in re.finditer(
            r"TPositionE(\d+)E(?:LS\w*?_(\d+)E)?", name
        ):  # TQueBind<(TPosition)0, (TPosition)1, ...>
            yield from (f"TPosition {n}" for n in one.groups() if n)
