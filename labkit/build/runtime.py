"""The twin's compiled half: one runtime library and the runner process, built once a machine.

A kernel is compiled against `twin/include` alone; what its calls do is in `libtwin`, which only the runner loads.
"""
from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

from labkit import messages
from labkit.build import compiler, headers
from labkit.paths import twin_dir

# The instruction set that the runtime is compiled for: the host's own, unless a test asks for an older one
# (LABKIT_MARCH=x86-64). The results are the same bits on each.
_MARCH = os.environ.get("LABKIT_MARCH") or "native"

# No contraction into fused multiply-add: results must not depend on the host.
FLAGS = ("-std=c++17", "-O3", f"-march={_MARCH}", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-pthread",
         "-ftls-model=initial-exec")  # libtwin is there from the runner's start: its thread-locals need no look-up


_SRC = twin_dir() / "src"
_INCLUDES = (f"-I{headers.TREES['kernel']}", f"-I{_SRC}")  # rooms name each other by their folder


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@lru_cache(maxsize=1)
def library() -> Path:
    """Path of libtwin. Raises CompileError, ToolError."""
    programs = (_SRC / "launch" / "runner.cpp", program_start())  # have a main of their own
    sources = sorted(p for p in _SRC.glob("*/*.cpp") if p not in programs)
    return compiler.build(sources, flags=[*FLAGS, *_INCLUDES], name="libtwin",
                          announce=lambda _: _say(messages.text("runtime.building")))


@lru_cache(maxsize=1)
def runner() -> Path:
    """Path of the runner program, which finds libtwin by its absolute path."""
    lib = library()
    return compiler.build([_SRC / "launch" / "runner.cpp"], kind="exe", name="twin-runner", deps=[lib],
                          flags=[*FLAGS, *_INCLUDES],
                          libs=[str(lib), f"-Wl,-rpath,{lib.parent}", "-ldl"])


@lru_cache(maxsize=1)
def program_start() -> Path:
    """The source that every program of a learner is linked with."""
    return _SRC / "host" / "program_start.cpp"
