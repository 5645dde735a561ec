"""Times whose name says another unit than they have: us.append((t1 - t0) * 1e3); and in what steps one is rounded.

Read from the text: a clock gives seconds, nanoseconds or, as events do, milliseconds; a power of ten makes another unit
of them; the name that takes the result says one. What is not understood has no unit, and is no finding.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from math import isfinite, log10

SECONDS = {"perf_counter", "monotonic", "time", "default_timer", "process_time", "thread_time", "total_seconds"}
SAID = {
    "s": 0, "sec": 0, "secs": 0, "seconds": 0, "ms": -3, "msec": -3, "millis": -3, "milliseconds": -3, "us": -6,
    "usec": -6, "micros": -6, "microseconds": -6, "ns": -9, "nanos": -9, "nanoseconds": -9,
}  # fmt: skip
NAMES = {0: "s", -3: "ms", -6: "us", -9: "ns"}
KEEPING = set("float int abs round sum min max sorted list array asarray median mean fmean percentile quantile".split())


def wrong_units(tree: ast.AST) -> list[tuple[int, str, str, str]]:
    """(line, name, the unit that it says, the unit that it has). The tree's names are changed."""
    _name_by_scope(tree)
    nodes = list(ast.walk(tree))
    read = _Reader(nodes)
    scaled = {
        _name(side)
        for n in nodes
        if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Mult, ast.Div))
        for side in (n.left, n.right)
        if _power(n.right) or _power(n.left)
    }  # where it is used, a power of ten may set it right
    for n in nodes:  # and where it is gone through
        if isinstance(n, (ast.comprehension, ast.For)) and _name(n.target) in scaled:
            scaled.add(_name(n.iter))
    conversions = {id(x) for n in nodes if isinstance(n, ast.BinOp) for x in (n.left, n.right)}
    counts = {
        n.value for n in nodes if isinstance(n, ast.Constant) and type(n.value) is int and id(n) not in conversions
    }
    found = []
    for line, name, value in read.given:
        unit, said = read.unit(value), _said(name)
        if unit in NAMES and said is not None and said != unit and name not in scaled:
            if 10 ** abs(said - unit) in counts:
                continue  # so many calls, perhaps: (t1 - t0) * 1e3 of a thousand are microseconds for each
            found.append((line, name.rpartition(".")[2], NAMES[said], NAMES[unit]))
    return found


def _name_by_scope(tree: ast.AST) -> None:
    """A function's own names as function.name: the t of one is not the t of another."""
    functions = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for node in reversed(functions):  # an inner function's first
        elsewhere = {n for x in ast.walk(node) if isinstance(x, (ast.Global, ast.Nonlocal)) for n in x.names}
        own = {a.arg for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]}
        own |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and n.id in own - elsewhere and "." not in n.id:
                n.id = f"{node.name}.{n.id}"


class _Reader:
    def __init__(self, nodes: list[ast.AST]):
        self.given = list(_given(nodes))
        self.known: dict[str, int | None] = {}
        for _ in range(8):  # names that one line takes from the other
            seen: dict[str, set] = {}
            for _, name, value in self.given:
                seen.setdefault(name, set()).add(self.unit(value))
            self.known = {name: units.pop() if len(units) == 1 else None for name, units in seen.items()}

    def unit(self, e: ast.AST) -> int | None:
        """The power of ten of seconds that an expression counts; None for others."""
        if isinstance(e, ast.Call):
            name = _name(e.func)
            if name == "elapsed_time":
                return -3
            if name in SECONDS:
                return 0
            if name.removesuffix("_ns") in SECONDS:
                return -9
            if name in KEEPING:
                return self.unit(e.args[0]) if e.args else None
            if isinstance(e.func, ast.Call):  # what is called is what a function returns: its unit is that function's
                return self.unit(e.func)
            return self.known.get(name) if isinstance(e.func, ast.Name) else None
        if isinstance(e, (ast.ListComp, ast.GeneratorExp)):
            return self.unit(e.elt)
        if isinstance(e, (ast.Name, ast.Attribute)):
            return self.known.get(_name(e))
        if not isinstance(e, ast.BinOp):
            return None
        left, right = self.unit(e.left), self.unit(e.right)
        if isinstance(e.op, ast.Sub) and (left is None) != (right is None):  # against a start that came from elsewhere
            other = e.right if right is None else e.left
            return (right if left is None else left) if isinstance(other, (ast.Name, ast.Attribute)) else None
        if isinstance(e.op, (ast.Sub, ast.Add)):
            return left if left == right else None
        if isinstance(e.op, ast.Mult):
            unit, other = (left, e.right) if left is not None else (right, e.left)
            power = _power(other)
            return None if unit is None or power is None else unit - power
        if isinstance(e.op, ast.Div) and left is not None and right is None:
            power = _power(e.right)
            if power is not None:
                return left + power if left + power <= 0 else left  # nobody counts thousands of seconds: by how many
            return left if not _value(e.right) else None  # by how many
        return None


def _given(nodes: list[ast.AST]) -> Iterator[tuple[int, str, ast.expr]]:
    """(line, name, value) of what is assigned to a name, or appended to it."""
    for n in nodes:
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.List) and not n.value.elts:
            continue  # what is appended says the unit
        if isinstance(n, ast.Assign) and len(n.targets) == 1 and isinstance(n.targets[0], (ast.Name, ast.Attribute)):
            yield n.lineno, _name(n.targets[0]), n.value
        elif isinstance(n, ast.Assign) and len(n.targets) == 1 and isinstance(n.targets[0], ast.Tuple):
            for i, target in enumerate(n.targets[0].elts):
                if isinstance(n.value, ast.Tuple) and len(n.value.elts) == len(n.targets[0].elts):
                    yield n.lineno, _name(target), n.value.elts[i]
                elif isinstance(n.value, ast.Call) and isinstance(n.value.func, ast.Name):
                    yield n.lineno, _name(target), ast.Name(f"{n.value.func.id}[{i}]", ast.Load())
        elif isinstance(n, ast.Call) and _name(n.func) == "append" and len(n.args) == 1:
            if isinstance(n.func, ast.Attribute) and _name(n.func.value):
                yield n.lineno, _name(n.func.value), n.args[0]
        elif isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for r in ast.walk(n):
                if isinstance(r, ast.Return) and isinstance(r.value, ast.Tuple):
                    for i, value in enumerate(r.value.elts):
                        yield r.lineno, f"{n.name}[{i}]", value
                elif isinstance(r, ast.Return) and r.value is not None:
                    yield r.lineno, n.name, r.value


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _said(name: str) -> int | None:
    """Of t_us, us and elapsedMs; not of a rate, as calls_per_s is."""
    parts = [p.lower() for p in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name.rpartition(".")[2])]
    return SAID.get(parts[-1]) if parts and "per" not in parts and parts != ["s"] else None


def finite(number) -> float | None:
    """As a float; None where it is no number, or none that a float can hold: a key of 2048 bits is no time."""
    if type(number) not in (int, float):
        return None
    try:
        return float(number) if isfinite(number) else None
    except OverflowError:
        return None


def value(e: ast.AST | None, quotients: bool = True) -> float | None:
    """The value of an expression of plain numbers: 1000, 10**6, 1e3 * 1e3, 1 / 1000."""
    if isinstance(e, ast.Constant):
        return finite(e.value)
    if not isinstance(e, ast.BinOp) or not isinstance(e.op, (ast.Pow, ast.Mult, *[ast.Div] * quotients)):
        return None
    left, right = value(e.left, quotients), value(e.right, quotients)
    if left is None or right is None:
        return None
    try:
        if isinstance(e.op, ast.Div):
            return finite(left / right)
        return finite(left * right if isinstance(e.op, ast.Mult) else left**right)
    except (OverflowError, ZeroDivisionError):
        return None


def _value(e: ast.AST | None) -> float | None:
    return value(e, quotients=False)


def step_of_rounding(call: ast.Call) -> float | None:
    """Of int(time.time() * 1000) or round(t, 3), in microseconds; None where the digits are not known."""
    given = [*call.args[1:], *(k.value for k in call.keywords if k.arg == "ndigits")]
    digits = 0
    if _name(call.func) == "round" and given:
        try:
            digits = ast.literal_eval(given[0]) or 0
        except ValueError:
            return None
    return scale(call.args[0]) * 10.0**-digits if isinstance(digits, int) and abs(digits) < 30 else None


def scale(node: ast.AST) -> float:
    """The unit of time.time() * 1000, in microseconds."""
    unit, todo = 1e6, [node]
    while todo:
        n = todo.pop()
        if value(n) is not None:
            continue  # a factor, which stood above
        if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult):
            unit /= value(n.left) or value(n.right) or 1
        elif isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div):
            unit *= value(n.right) or 1
        elif isinstance(n, ast.Call) and _name(n.func).endswith("_ns"):
            unit /= 1e9
        elif isinstance(n, ast.Call) and _name(n.func) == "elapsed_time":
            unit /= 1e3
        todo += ast.iter_child_nodes(n)
    return unit


def _power(e: ast.AST) -> int | None:
    """Of 1e3, 10**6, 1e-6, or 1e6 / calls; 1 is none."""
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Div) and _value(e.right) is None:
        return _power(e.left)
    value = _value(e)
    if not value or value <= 0 or value == 1:
        return None
    power = log10(value)
    return round(power) if abs(power - round(power)) < 1e-9 and round(power) % 3 == 0 else None
