"""Our solution of a Python exercise with one thing changed: where a wrong answer gives exactly what such a variation
gives, on every case, that one thing is what it does differently. A person writes the known mistakes of an exercise; this
is what a person need not write.
"""

from __future__ import annotations

import ast
import copy
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from labkit import messages
from labkit.exercises.stub import Template

SECONDS = 4.0  # of processor time for all variations of a check
_OPERATORS = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%"}
_COMPARISONS = {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!="}
_EDGE = {"Lt": ast.LtE, "LtE": ast.Lt, "Gt": ast.GtE, "GtE": ast.Gt}
_TURNED = {"Lt": ast.Gt, "LtE": ast.GtE, "Gt": ast.Lt, "GtE": ast.LtE, "Eq": ast.NotEq, "NotEq": ast.Eq}
_CALLS = {"max": "min", "any": "all", "sum": "mean", "argmax": "argmin", "idxmax": "idxmin", "ceil": "floor", "amax": "amin"}
_CALLS |= {b: a for a, b in _CALLS.items()}
_AXES = {"cat": (0, 1, -1), "stack": (0, 1, -1), "concat": (0, 1, -1), "mean": (0, -1), "sum": (0, -1)}

Change = tuple[str, dict[str, str], Callable[[Any], Any]]


def sentence(ours: Template, source: str, agrees: Callable[[str], bool], coarse: bool) -> str:
    """What is changed in the variation whose text `agrees` with the answer, "" for none.
    source: the learner's text, which must not speak against it. coarse: the results say little (yes or no), so that only
    a single sentence counts.
    """
    tree = ast.parse("\n".join(ours.lines))
    end, found = time.process_time() + SECONDS, []
    for key, names, text in _texts(tree, ours):
        if time.process_time() > end:
            break
        say = messages.text(f"variation.{key}", **names)
        if say not in found and _plausible(key, names, source) and agrees(text):
            found.append(say)
            if not coarse:
                break
    return found[0] if len(found) == 1 else ""


def _plausible(key: str, names: dict[str, str], source: str) -> bool:
    """May the learner's text, on the face of it, have this mistake?"""
    if key in ("edge", "turned", "number") or key == "instead" and not names["new"].isidentifier():
        return names["new"] in source
    if key in ("left-out", "condition"):
        return names["part"] not in source
    if key == "unchanged":
        return not re.search(rf"\b{re.escape(names['name'])}\s*[-+*/]?=[^=]", source)
    if key == "without-call":
        return f"{names['name']}(" not in source
    word = {"goes-on": "break"}.get(key)
    if word:
        return word not in source
    word = {"turned-difference": "-", "turned-quotient": "/", "added": "+", "arguments": names.get("name")}.get(key)
    return word is None or word in source


def _texts(tree: ast.Module, ours: Template) -> Iterator[tuple[str, dict[str, str], str]]:
    inside = {n for r in ours.regions for n in range(r.first, r.last + 1)}
    given = "\n".join(ours.given())
    nodes = list(ast.walk(tree))
    places = [k for k, n in enumerate(nodes) if getattr(n, "lineno", 0) in inside]
    groups: dict[tuple, list] = {}  # the same change at several places
    for k in places:
        for number, (key, names, _) in enumerate(_changes(nodes[k], given)):
            group = groups.setdefault((type(nodes[k]), number, key, names.get("new")), [names])
            group.append((k, number))
            yield key, names, _changed(tree, [(k, number)], given)
    for (_, _, key, _), (names, *spots) in groups.items():
        if len(spots) > 1:
            yield key, names, _changed(tree, spots, given)
    yield from _exchanged_words(tree, nodes, places)


def _changed(tree: ast.Module, spots: list[tuple[int, int]], given: str) -> str:
    other = copy.deepcopy(tree)
    nodes = list(ast.walk(other))
    for k, number in reversed(spots):  # from the inside out
        new = list(_changes(nodes[k], given))[number][2](nodes[k])
        _Put(nodes[k], new).visit(other)
    return ast.unparse(ast.fix_missing_locations(other))


class _Put(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


def _exchanged_words(tree, nodes, places) -> Iterator[tuple[str, dict[str, str], str]]:
    words = sorted({n.value for k in places if isinstance(n := nodes[k], ast.Constant) and isinstance(n.value, str)})
    for a, b in ((a, b) for i, a in enumerate(words[:6]) for b in words[i + 1 : 6]):
        other = copy.deepcopy(tree)
        for k, n in enumerate(ast.walk(other)):
            if k in set(places) and isinstance(n, ast.Constant) and n.value in (a, b):
                n.value = b if n.value == a else a
        yield "words", {"a": a, "b": b}, ast.unparse(other)


def _changes(node: ast.AST, given: str) -> Iterator[Change]:
    """(message's key, its names, what makes the changed node of a copy)"""

    def part(n: ast.AST) -> str:
        """The text of a part that is made of names which the learner has seen, else ""."""
        names = {x.id for x in ast.walk(n) if isinstance(x, ast.Name)} | {x.attr for x in ast.walk(n) if isinstance(x, ast.Attribute)}  # fmt: skip
        text = ast.unparse(n)
        return text if names and len(text) < 40 and all(name in given for name in names) else ""

    def without(side: str) -> Callable:
        return lambda n: getattr(n, side)

    if isinstance(node, ast.BinOp) and type(node.op).__name__ in _OPERATORS:
        yield from _of_operator(node, part, without)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)) and not _is_ceil(node):
        yield "sign" if isinstance(node.op, ast.USub) else "not", {}, lambda n: n.operand
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]).__name__ in _COMPARISONS:
        kind = type(node.ops[0]).__name__
        for key, table in ("edge", _EDGE), ("turned", _TURNED):
            if kind in table:
                names = {"old": _COMPARISONS[kind], "new": _COMPARISONS[table[kind].__name__]}
                yield key, names, lambda n, op=table[kind]: ast.Compare(n.left, [op()], n.comparators)
    elif isinstance(node, ast.BoolOp):
        for k, value in enumerate(node.values):
            left = node.values[:k] + node.values[k + 1 :]
            text = part(value)
            make = lambda n, k=k: ast.BoolOp(n.op, n.values[:k] + n.values[k + 1 :]) if len(n.values) > 2 else n.values[1 - k]  # noqa: E731  # fmt: skip
            if left:
                yield "condition" if text else "a-condition", {"part": text}, make
    elif isinstance(node, ast.Call):
        yield from _of_call(node, part)
    elif isinstance(node, ast.AugAssign):
        yield "unchanged", {"name": ast.unparse(node.target)}, lambda n: ast.Pass()
    elif isinstance(node, ast.Break):
        yield "goes-on", {}, lambda n: ast.Pass()
        yield "goes-on", {}, lambda n: ast.Continue()
    elif isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.ctx, ast.Load):
        yield "pair", {}, lambda n: ast.Tuple(n.elts[::-1], n.ctx)
    elif isinstance(node, ast.Slice) and (node.lower is not None or node.upper is not None):
        yield "slice", {}, lambda n: ast.Slice()
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        for step in (1, -1):
            names = {"old": str(node.value), "new": str(node.value + step)}
            yield "number", names, lambda n, step=step: ast.Constant(n.value + step)


def _is_ceil(node: ast.AST) -> bool:
    """-(-a // b)"""
    inner = node.operand if isinstance(node, ast.UnaryOp) else None
    return isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.FloorDiv) and isinstance(inner.left, ast.UnaryOp)


def _of_operator(node: ast.BinOp, part, without) -> Iterator[Change]:
    kind = type(node.op).__name__
    if kind == "FloorDiv" and isinstance(node.left, ast.UnaryOp):  # within -(-a // b)
        def floor(n, more):
            down = ast.BinOp(n.left.operand, ast.FloorDiv(), n.right)
            return ast.UnaryOp(ast.USub(), ast.BinOp(down, ast.Add(), ast.Constant(1)) if more else down)

        yield "rounds-down", {}, lambda n: floor(n, False)
        yield "one-too-many", {}, lambda n: floor(n, True)
        yield "not-rounded", {}, lambda n: ast.BinOp(n.left, ast.Div(), n.right)
        return
    if kind in ("Sub", "Div", "FloorDiv"):
        yield "turned-" + ("difference" if kind == "Sub" else "quotient"), {}, lambda n: ast.BinOp(n.right, n.op, n.left)
    for side, kept in ("right", "left"), ("left", "right"):
        if side == "right" or kind in ("Add", "Mult"):
            if text := part(getattr(node, side)):
                yield "left-out", {"part": text}, without(kept)
    for other in {"Add": (ast.Sub,), "Sub": (ast.Add,), "Mult": (ast.Div,), "Div": (ast.Mult, ast.FloorDiv), "FloorDiv": (ast.Div,)}.get(kind, ()):  # fmt: skip
        names = {"old": _OPERATORS[kind], "new": _OPERATORS[other.__name__]}
        yield "instead", names, lambda n, other=other: ast.BinOp(n.left, other(), n.right)


def _of_call(node: ast.Call, part) -> Iterator[Change]:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name in _CALLS and (isinstance(node.func, ast.Attribute) or _CALLS[name] != "mean"):
        def renamed(n):
            func = copy.deepcopy(n.func)
            setattr(func, "attr" if isinstance(func, ast.Attribute) else "id", _CALLS[name])
            return ast.Call(func, n.args, n.keywords)

        yield "instead", {"old": name, "new": _CALLS[name]}, renamed
    if name in ("max", "min") and isinstance(node.func, ast.Name) and len(node.args) == 2:
        for k in (0, 1):
            yield "without-call", {"name": name}, lambda n, k=k: n.args[k]
        yield "added", {"name": name}, lambda n: ast.BinOp(n.args[0], ast.Add(), n.args[1])
    if name in _AXES:
        axis = next((k for k, a in enumerate(node.args) if k and isinstance(a, ast.Constant)), None)
        for value in _AXES[name]:
            if axis is not None:
                yield "axis", {}, lambda n, v=value: ast.Call(n.func, [*n.args[:axis], ast.Constant(v), *n.args[axis + 1 :]], n.keywords)  # fmt: skip
            elif any(k.arg in ("dim", "axis") for k in node.keywords):
                yield "axis", {}, lambda n, v=value: ast.Call(n.func, n.args, [ast.keyword(k.arg, ast.Constant(v)) if k.arg in ("dim", "axis") else k for k in n.keywords])  # fmt: skip
    if len(node.args) == 2 and not node.keywords and name not in ("max", "min"):
        yield "arguments", {"name": name}, lambda n: ast.Call(n.func, n.args[::-1], [])
