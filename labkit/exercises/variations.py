"""Our solution of a Python exercise with one thing changed: where a wrong answer gives exactly what such a variation
gives, on every case, that one thing is what it does differently. A person writes the known mistakes of an exercise;
these are the ones that a person need not write.
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
_CALLS = {
    "max": "min",
    "any": "all",
    "sum": "mean",
    "argmax": "argmin",
    "idxmax": "idxmin",
    "ceil": "floor",
    "amax": "amin",
}
_CALLS |= {b: a for a, b in _CALLS.items()}
_INSTEAD = {
    "Add": (ast.Sub,),
    "Sub": (ast.Add,),
    "Mult": (ast.Div,),
    "Div": (ast.Mult, ast.FloorDiv),
    "FloorDiv": (ast.Div,),
}
_AXES = {"cat": (0, 1, -1), "stack": (0, 1, -1), "concat": (0, 1, -1), "mean": (0, -1), "sum": (0, -1)}

Change = tuple[str, dict[str, str], Callable[[Any], Any]]


def sentence(ours: Template, source: str, agrees: Callable[[str], bool], coarse: bool) -> str:
    """What is changed in the variation whose text `agrees` with the answer, "" for none.
    source: the learner's text, which must not speak against it. coarse: the results say little (yes or no), so that
    only a single sentence counts.
    """
    tree = ast.parse("\n".join(ours.lines))
    end, found = time.process_time() + SECONDS, []
    for key, names, text in _texts(tree, ours):
        if time.process_time() > end:
            break
        say = messages.text(f"variation.{key}", **names)
        if say not in found and _plausible(key, names, source, coarse) and agrees(text):
            found.append(say)
            if not coarse:
                break
    return found[0] if len(found) == 1 else ""


def _plausible(key: str, names: dict[str, str], source: str, coarse: bool) -> bool:
    """May the learner's text, on the face of it, have this mistake?"""
    if key in ("edge", "turned", "number") or key == "instead" and (coarse or not names["new"].isidentifier()):
        return names["new"] in source
    if key == "words":
        return all(re.search(f"[\"']{re.escape(word)}[\"']", source) for word in names.values())
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
    if isinstance(node, ast.BinOp) and type(node.op).__name__ in _OPERATORS:
        yield from _of_operator(node, given)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)) and not _is_ceil(node):
        yield "sign" if isinstance(node.op, ast.USub) else "not", {}, lambda n: n.operand
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]).__name__ in _COMPARISONS:
        yield from _of_comparison(type(node.ops[0]).__name__)
    elif isinstance(node, ast.BoolOp):
        yield from _of_condition(node, given)
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
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


def _part(node: ast.AST, given: str) -> str:
    """The text of a part that is made of names which the learner has seen, else ""."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    names |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    text = ast.unparse(node)
    return text if names and len(text) < 40 and all(name in given for name in names) else ""


def _is_ceil(node: ast.AST) -> bool:
    """-(-a // b)"""
    inner = node.operand if isinstance(node, ast.UnaryOp) else None
    return isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.FloorDiv) and isinstance(inner.left, ast.UnaryOp)


def _of_operator(node: ast.BinOp, given: str) -> Iterator[Change]:
    kind = type(node.op).__name__
    if kind == "FloorDiv" and isinstance(node.left, ast.UnaryOp):  # within -(-a // b)
        yield "rounds-down", {}, lambda n: ast.UnaryOp(ast.USub(), _floor(n))
        yield "one-too-many", {}, lambda n: ast.UnaryOp(ast.USub(), ast.BinOp(_floor(n), ast.Add(), ast.Constant(1)))
        yield "not-rounded", {}, lambda n: ast.BinOp(n.left, ast.Div(), n.right)
        return
    if kind in ("Sub", "Div", "FloorDiv"):
        key = "turned-difference" if kind == "Sub" else "turned-quotient"
        yield key, {}, lambda n: ast.BinOp(n.right, n.op, n.left)
    if text := _part(node.right, given):
        yield "left-out", {"part": text}, lambda n: n.left
    if kind in ("Add", "Mult") and (text := _part(node.left, given)):
        yield "left-out", {"part": text}, lambda n: n.right
    for other in _INSTEAD.get(kind, ()):
        names = {"old": _OPERATORS[kind], "new": _OPERATORS[other.__name__]}
        yield "instead", names, lambda n, other=other: ast.BinOp(n.left, other(), n.right)


def _floor(n: ast.BinOp) -> ast.BinOp:
    """a // b of -a // b"""
    return ast.BinOp(n.left.operand, ast.FloorDiv(), n.right)


def _of_comparison(kind: str) -> Iterator[Change]:
    for key, table in ("edge", _EDGE), ("turned", _TURNED):
        if new := table.get(kind):
            names = {"old": _COMPARISONS[kind], "new": _COMPARISONS[new.__name__]}
            yield key, names, lambda n, new=new: ast.Compare(n.left, [new()], n.comparators)


def _of_condition(node: ast.BoolOp, given: str) -> Iterator[Change]:
    def without(n: ast.BoolOp, k: int) -> ast.expr:
        left = n.values[:k] + n.values[k + 1 :]
        return ast.BoolOp(n.op, left) if len(left) > 1 else left[0]

    for k, value in enumerate(node.values):
        text = _part(value, given)
        yield "condition" if text else "a-condition", {"part": text}, lambda n, k=k: without(n, k)


def _of_call(node: ast.Call) -> Iterator[Change]:
    method = isinstance(node.func, ast.Attribute)
    name = node.func.attr if method else getattr(node.func, "id", "")
    if name in _CALLS and (method or _CALLS[name] != "mean"):
        yield "instead", {"old": name, "new": _CALLS[name]}, lambda n: _renamed(n, _CALLS[name])
    if name in ("max", "min") and not method and len(node.args) == 2:
        for k in (0, 1):
            yield "without-call", {"name": name}, lambda n, k=k: n.args[k]
        yield "added", {"name": name}, lambda n: ast.BinOp(n.args[0], ast.Add(), n.args[1])
    for value in _AXES.get(name, ()) if method else ():
        yield "axis", {}, lambda n, value=value: _along(n, value)
    if len(node.args) == 2 and not node.keywords and name not in ("max", "min"):
        yield "arguments", {"name": name}, lambda n: ast.Call(n.func, n.args[::-1], [])


def _renamed(call: ast.Call, name: str) -> ast.Call:
    func = copy.deepcopy(call.func)
    setattr(func, "attr" if isinstance(func, ast.Attribute) else "id", name)
    return ast.Call(func, call.args, call.keywords)


def _along(call: ast.Call, axis: int) -> ast.Call:
    """The same with another axis, where one is given."""
    args = [ast.Constant(axis) if k and isinstance(a, ast.Constant) else a for k, a in enumerate(call.args)]
    words = [ast.keyword(k.arg, ast.Constant(axis)) if k.arg in ("dim", "axis") else k for k in call.keywords]
    return ast.Call(call.func, args, words)
