"""`python -m labkit.program cmake ...`: one of the lab's stand-ins; a sample's own commands call them.

`start demo.twin` runs a program that the lab's bisheng has linked (labkit.program.cann_home).
"""

from __future__ import annotations

import sys

from labkit.build.compiler import ToolError
from labkit.program import cann_home, standin
from labkit.program.build import NoProgram
from labkit.source.errors import CompileError


def main(name: str, words: list[str]) -> int:
    if name == "cmake":
        return standin.cmake(words)
    if name in ("make", "ninja"):
        return standin.make(standin.make_folder(words), words)
    if name == "start":
        return cann_home.start(words)
    if name == "bisheng" and "-c" in words:
        return cann_home.compile_one(words)
    if name == "bisheng" and any(w.endswith(".o") for w in words):
        return cann_home.link(words)
    return standin.bisheng(words) if name == "bisheng" else standin.profiler(words)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], sys.argv[2:]))
    except (CompileError, ToolError, NoProgram, OSError) as error:  # a source that is not there
        sys.exit(f"labkit: {error}")
