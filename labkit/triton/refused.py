"""What the back end does not take: one line that names it, with the author's line of Triton."""

from __future__ import annotations

import linecache
from functools import cache
from pathlib import Path

from labkit import messages


class Refused(NotImplementedError):
    """where: "file.py:12". The text says what is not there, why, and what to write instead."""


def source_line(file: str, line: int) -> str:
    return linecache.getline(file, line).strip()


def shown(file: str) -> str:
    """A file as messages name it; a notebook's cell has one that ipykernel makes up, with the process's number."""
    return "cell" if "ipykernel_" in file else Path(file).name


def refuse(op, what: str, hint: str = "") -> Refused:
    """what: in the words of Triton; hint: what to write instead."""
    file, line = (op.file, op.line) if op is not None else ("", 0)
    where = f"{shown(file)}:{line}: {source_line(file, line)}" if line else "the kernel"
    return Refused(messages.text("triton.refused", where=where, what=what) + (f"; {hint}" if hint else ""))


@cache
def _too_large() -> type[Refused]:
    from triton.runtime.errors import OutOfResources  # which tl's autotuner takes for "not this configuration"

    class TooLarge(Refused, OutOfResources):
        def __init__(self, text: str):
            Exception.__init__(self, text)

        __str__ = Exception.__str__
        __reduce__ = Exception.__reduce__

    return TooLarge


def too_large(text: str) -> Refused:
    """Where a kernel needs more of a memory than there is; autotuning goes on with another configuration."""
    return _too_large()(text)
