"""A few samples that a script shows one by one, such as the slowest three: nothing is left out by that."""

from __future__ import annotations

import ast

_FEW = 5
_STATISTICS = {"mean", "fmean", "average", "median", "sum", "fsum", "min", "max", "std", "stdev", "pstdev"}
_THROUGH = {"enumerate", "reversed", "zip", "map"}  # what they are given is walked through


def shown(nodes: list[ast.AST]) -> set[int]:
    """ids of the slices of a few that are walked through or written out, and handed to no statistic."""
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    handed = {id(a) for n in calls if _called(n) in _STATISTICS for a in n.args}
    places = [n.iter for n in nodes if isinstance(n, ast.For)]
    places += [part.iter for n in nodes if id(n) not in handed for part in getattr(n, "generators", ())]
    places += [n.value for n in nodes if isinstance(n, ast.FormattedValue)]
    places += [a for n in calls if _called(n) in ("print", "join") for a in n.args]
    found = set()
    while places:
        n = places.pop()
        if isinstance(n, ast.Starred):
            places.append(n.value)
        elif isinstance(n, ast.Call) and _called(n) in _THROUGH:
            places += n.args
        elif isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice) and _few(n.slice):
            found.add(id(n))
    return found


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _few(s: ast.Slice) -> bool:
    """[-3:], [:3], [0:3], [:-4:-1]"""
    lower, upper, step = map(_number, (s.lower, s.upper, s.step))
    if s.step is not None and step == -1:
        return s.lower is None and upper is not None and -_FEW - 1 <= upper < 0
    if s.step is not None:
        return False
    if s.upper is None:
        return lower is not None and -_FEW <= lower < 0
    return (s.lower is None or lower == 0) and upper is not None and 0 < upper <= _FEW


def _number(node) -> int | None:
    try:
        value = ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None
    return value if isinstance(value, int) else None
