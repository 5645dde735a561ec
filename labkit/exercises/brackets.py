"""A bracket that the learner's region leaves open, or closes once too often: the compiler names a line far below."""

from __future__ import annotations

import re

_PAIRS = {")": "(", "]": "[", "}": "{"}
# What is no code: comments, strings, characters. Each line of it stays a line.
_C = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
_PYTHON = re.compile(r"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


def unbalanced(text: str, comment: str = "//") -> tuple[int, str, bool] | None:
    """(line from 1, bracket, is it open) of the first bracket without a partner; None where all have one."""
    code = (_C if comment == "//" else _PYTHON).sub(lambda m: "\n" * m[0].count("\n") or " ", text)
    opened: list[tuple[int, str]] = []
    for number, line in enumerate(code.split("\n"), 1):
        for c in line:
            if c in "([{":
                opened.append((number, c))
            elif c in _PAIRS:
                if not opened:
                    return number, c, False
                at, o = opened.pop()
                if o != _PAIRS[c]:
                    return at, o, True
    return (*opened[-1], True) if opened else None
