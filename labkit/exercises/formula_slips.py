"""A wrong prediction, by the slip in the formula that gives exactly its number: a part left out, counted twice, rounded
the other way.

The formula is the spec's own: answer.value, and the expressions of `given` that the question does not show. Something
is said only where one slip gives the number: small whole numbers come out in many ways.
"""

from __future__ import annotations

import ast
import copy
import math
import re
from collections.abc import Iterator
from numbers import Number
from typing import Any

from labkit import chips, messages
from labkit.exercises.question import evaluate, given
from labkit.exercises.spec import Spec, SpecError
from labkit.exercises.value_remarks import UNITS

_NEAR = 2e-4  # of a number that was worked out and written with four figures
_RARE = {
    "half": 2,
    "instead": 2,
    "times": 1,
    "upside-down": 1,
    "subtracted": 1,
    "larger": 1,
    "also-times": 1,
    "also-divided": 1,
    "added-above": 1,
    "added-below": 1,
    "binary": 1,
    "decimal": 1,
}  # said where no likelier slip fits
_Change = tuple[str, dict[str, Any], ast.expr]  # (which slip, what its sentence names, the part as it became)


def sentence(spec: Spec, value: Any, right: Any) -> str:
    """In the language in force; "" where no slip gives the number, or more than one does."""
    if not spec.answer.value or not isinstance(value, Number) or isinstance(value, bool) or not value:
        return ""
    values = given(spec)
    found: dict[tuple, str] = {}
    for name, formula in _formulas(spec):
        for key, named, changed in _slips(formula, values, right if not name else 0):
            if key == "added-above" and math.isfinite(value) and _whole(value):
                continue  # one too many, for a reason of its own
            try:
                got = [_worked_out(spec, name, changed, rounded) for rounded in (False, True)]
            except SpecError:
                continue
            if any(isinstance(g, Number) and not isinstance(g, complex) and _is(g, value) for g in got) and not any(
                _is(g, right) for g in got
            ):
                texts = {k: _shown(spec, v, values) if isinstance(v, ast.AST) else v for k, v in named.items()}
                found.setdefault((key, *texts.values()), messages.text(f"formula.{key}", **texts))
    likely = min((_RARE.get(key[0], 0) for key in found), default=0)
    said = {text for key, text in found.items() if _RARE.get(key[0], 0) == likely}
    return said.pop() if len(said) == 1 else ""


def _is(a: Any, b: Any) -> bool:
    """The same number; fractions as far as somebody writes them down."""
    if max(abs(a), abs(b)) > 1e300 or not (math.isfinite(a) and math.isfinite(b)):
        return False
    return a == b or abs(a - b) <= _NEAR * max(abs(a), abs(b)) and not (_whole(a) and _whole(b) and abs(a) < 1e4)


def _whole(a: Any) -> bool:
    return a == int(a)


def _formulas(spec: Spec) -> Iterator[tuple[str, ast.expr]]:
    """(name, formula): the answer's, "", and those of its numbers that the question does not show."""
    yield "", ast.parse(spec.answer.value, mode="eval").body
    shown = set(re.findall(r"\{(\w+)", spec.question.get("en", "")))
    for name, text in spec.given.items():
        if name not in shown and isinstance(text, str) and text.startswith("="):
            yield name, ast.parse(text[1:], mode="eval").body


def _worked_out(spec: Spec, name: str, formula: ast.expr, rounded: bool) -> Any:
    """The answer with `formula` for the number of that name, or for the answer itself. rounded: from the numbers as the
    question shows them. Raises SpecError."""
    code, values = ast.unparse(formula), {}
    for key, text in spec.given.items():
        is_formula = isinstance(text, str) and text.startswith("=")
        values[key] = evaluate(spec, code if key == name else text[1:], values) if is_formula else text
        digits = re.search(rf"\{{{key}:(\.\df)\}}", spec.question.get("en", ""))
        if rounded and digits and isinstance(values[key], float):
            values[key] = float(format(values[key], digits[1]))
    return evaluate(spec, spec.answer.value if name else code, values)


def _names(tree: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}


def _slips(formula: ast.expr, values: dict[str, Any], right: Any) -> Iterator[_Change]:
    """The formula with one slip in it."""
    numbers = [name for name, v in values.items() if isinstance(v, Number) and name in _names(formula)]
    powers = [n.right for n in ast.walk(formula) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow)]
    exponents = {id(n) for power in powers for n in ast.walk(power)}  # a slip in there makes numbers without an end
    for place, node in enumerate(ast.walk(formula)):
        counted = isinstance(formula, ast.Constant)  # a number that the spec does not work out has no parts
        if isinstance(node, ast.expr) and id(node) not in exponents and not counted:
            for key, named, part in _of_node(node, numbers, values):
                yield key, named, _with(formula, place, part)
    for name in numbers:
        if (rest := _rest(formula, name, values[name])) is not None:
            yield "other-part", {"part": ast.Name(name, ast.Load())}, _everywhere(formula, name, rest)
    if not right:
        return  # a number on the way
    for name, value in values.items():  # one of the question's numbers that has no part in it
        if name not in numbers and isinstance(value, Number) and value not in (0, 1, *UNITS):
            other = ast.Name(name, ast.Load())
            yield "also-times", {"other": other}, ast.BinOp(formula, ast.Mult(), other)
            yield "also-divided", {"other": other}, ast.BinOp(formula, ast.Div(), other)
    cores = int(chips.flat(chips.DEFAULT)["cores.aiv"])
    if cores not in values.values():  # what holds for all of them together is taken for each
        yield "also-divided", {"other": f"{cores} (`cores`)"}, ast.BinOp(formula, ast.Div(), ast.Constant(cores))
        yield "also-times", {"other": f"{cores} (`cores`)"}, ast.BinOp(formula, ast.Mult(), ast.Constant(cores))
    for power in (1, 2, 3):  # KiB, MiB, GiB
        whole, ten = ast.Constant(1.024**power), {"ten": f"10**{3 * power}", "two": f"2**{10 * power}"}
        yield "binary", ten, ast.BinOp(formula, ast.Div(), whole)
        yield "decimal", ten, ast.BinOp(formula, ast.Mult(), whole)
    yield "inverse", {}, ast.BinOp(ast.Constant(1), ast.Div(), formula)
    for whole, least in ((100, 1), (1, 0)):  # a share, in per cent or not
        if least < right < whole:
            yield "rest", {"whole": whole}, ast.BinOp(ast.Constant(whole), ast.Sub(), formula)


def _rest(formula: ast.expr, name: str, value: Any) -> ast.expr | None:
    """What a share leaves, in per cent where the formula divides it by 100. What is taken from 1 is a share, too."""
    text = ast.unparse(formula)
    whole = 100 if f"{name} / 100" in text else 1 if f"1 - {name}" in text else 0
    return ast.BinOp(ast.Constant(whole), ast.Sub(), ast.Name(name, ast.Load())) if 0 < value < whole else None


def _everywhere(formula: ast.expr, name: str, part: ast.expr) -> ast.expr:
    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return part if node.id == name else node

    return Put().visit(copy.deepcopy(formula))


def _with(tree: ast.expr, place: int, part: ast.expr) -> ast.expr:
    made = copy.deepcopy(tree)
    old = list(ast.walk(made))[place]
    if old is made:
        return part
    for node in ast.walk(made):
        for field, value in ast.iter_fields(node):
            if value is old:
                setattr(node, field, part)
            elif isinstance(value, list) and any(v is old for v in value):
                setattr(node, field, [part if v is old else v for v in value])
    return made


def _of_node(node: ast.expr, numbers: list[str], values: dict[str, Any]) -> Iterator[_Change]:
    if isinstance(node, ast.BinOp):
        yield from _of_operation(node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield from _of_call(node)
    elif isinstance(node, ast.Constant) and node.value in range(3, 10):
        for other in (node.value - 1, node.value + 1):
            yield "instead", {"part": ast.Constant(other), "other": node}, ast.Constant(other)
    elif isinstance(node, ast.Name) and node.id in numbers:
        two = ast.Constant(2)
        yield "twice", {"part": node}, ast.BinOp(two, ast.Mult(), node)
        yield "half", {"part": node}, ast.BinOp(node, ast.Div(), two)
        for other in numbers:
            if other != node.id:
                name = ast.Name(other, ast.Load())
                yield "times", {"part": node, "other": name}, ast.BinOp(node, ast.Mult(), name)
                if values[other] != values[node.id]:
                    yield "instead", {"part": name, "other": node}, name


def _of_operation(node: ast.BinOp) -> Iterator[_Change]:
    left, right = node.left, node.right
    if any(isinstance(n, ast.Constant) and n.value in UNITS[5:] for n in (left, right)):
        return  # thousands are a unit: prediction-unit-factor says so
    if isinstance(node.op, (ast.Add, ast.Mult)):
        yield "left-out", {"part": right}, left
        yield "left-out", {"part": left}, right
    elif isinstance(node.op, ast.Sub):
        yield "left-out", {"part": right}, left
        if not isinstance(right, ast.Constant):
            yield "added", {"part": right}, ast.BinOp(left, ast.Add(), right)
    elif isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)):
        yield "undivided", {"part": right}, left
        yield "upside-down", {"part": left, "other": right}, ast.BinOp(right, ast.Div(), left)
        if isinstance(node.op, ast.Div) and not isinstance(right, ast.Constant):
            both = ast.BinOp(left, ast.Add(), right)
            yield "added-above", {"part": right, "other": left}, ast.BinOp(both, ast.Div(), right)
            yield "added-below", {"part": left, "other": right}, ast.BinOp(left, ast.Div(), both)
    if isinstance(node.op, ast.Add) and not isinstance(right, ast.Constant):
        yield "subtracted", {"part": right}, ast.BinOp(left, ast.Sub(), right)
        part_of = isinstance(left, ast.BinOp) and isinstance(left.op, ast.Sub) and _names(left.right) <= _names(right)
        if part_of:  # what is left, and not what is saved
            less = ast.BinOp(left.left, ast.Sub(), right)
            yield "left-for-saved", {"part": right, "other": left.right}, less
    if isinstance(node.op, ast.Add):
        yield "larger", {"part": left, "other": right}, _call("max", left, right)
    if isinstance(node.op, ast.FloorDiv):
        yield "rounded-up", {"part": node}, _call("ceil", ast.BinOp(left, ast.Div(), right))
    if isinstance(node.op, ast.Pow):
        yield "power", {"part": node}, left
    if isinstance(node.op, ast.Mod):
        yield "quotient", {"part": node}, ast.BinOp(left, ast.FloorDiv(), right)


def _of_call(node: ast.Call) -> Iterator[_Change]:
    name, arguments = node.func.id, node.args
    if name in ("ceil", "floor", "round", "int") and len(arguments) == 1:
        if name != "floor":
            yield "rounded-down", {"part": arguments[0]}, _call("floor", arguments[0])
        if name != "ceil":
            yield "rounded-up", {"part": arguments[0]}, _call("ceil", arguments[0])
        yield "unrounded", {"part": arguments[0]}, arguments[0]
    if name in ("max", "min") and len(arguments) > 1:
        added = arguments[0]
        for one in arguments[1:]:
            added = ast.BinOp(added, ast.Add(), one)
        yield f"added-for-{name}", {"part": node}, added
        yield f"other-than-{name}", {"part": node}, _call("min" if name == "max" else "max", *arguments)
        for one in arguments if len(arguments) > 2 else ():
            yield "only", {"part": one}, one
    if name in ("sqrt", "log2", "log", "exp"):
        yield "without", {"name": name}, arguments[0]


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _shown(spec: Spec, part: ast.expr, values: dict[str, Any]) -> str:
    """A part as its number, and where that is a name or a short formula also how it is called: 36 (link)."""
    number = evaluate(spec, ast.unparse(part), values)
    text = f"{number:.6g}" if isinstance(number, float) else f"{number}"
    if isinstance(part, ast.Constant):
        return text
    code = ast.unparse(part)
    return f"{text} (`{code}`)" if len(code) <= 40 else text
