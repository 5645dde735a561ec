"""A few samples that a script shows one by one, such as the slowest three: nothing is left out by that."""

from __future__ import annotations

import ast

_FEW = 5


def shown(nodes: list[ast.AST]) -> set[int]:
    """ids of the slices of a few that are walked through or written out, and handed to no statistic."""
    places = [n.iter for n in nodes if isinstance(n, (ast.For, ast.comprehension))]
    places += [n.value for n in nodes if isinstance(n, ast.FormattedValue)]
    return {id(n) for n in places if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice) and _few(n.slice)}


def _few(s: ast.Slice) -> bool:
    """[-3:], [:3], [:-4:-1]"""
    lower, upper, step = map(_number, (s.lower, s.upper, s.step))
    if s.step is not None and step == -1:
        return s.lower is None and upper is not None and -_FEW - 1 <= upper < 0
    if s.step is not None:
        return False
    if s.upper is None:
        return lower is not None and -_FEW <= lower < 0
    return s.lower is None and upper is not None and 0 < upper <= _FEW


def _number(node) -> int | None:
    try:
        value = ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None
    return value if isinstance(value, int) else None
