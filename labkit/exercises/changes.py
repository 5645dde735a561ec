"""The single changes that variations of a solution are made of: of one node of its syntax tree each."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

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
_COUNTERPARTS = {*_CALLS, "not", "set", "int"} - {"sum", "mean"}
_INSTEAD = {
    "Add": (ast.Sub,),
    "Sub": (ast.Add,),
    "Mult": (ast.Div,),
    "Div": (ast.Mult, ast.FloorDiv),
    "FloorDiv": (ast.Div,),
}
_THOUSANDS = {1000: 1024, 1024: 1000, 10**6: 1024**2, 1024**2: 10**6, 10**9: 1024**3, 1024**3: 10**9}
_AROUND = {"abs", "set", "float", "int", "sorted", "round", "bool", "list", "tuple"}
_AFTER = set(
    "square sqrt rsqrt abs exp log neg sigmoid relu detach item float half double long contiguous clone cpu t strip "
    "lower upper sum mean".split()
)
LONGEST, SHORT = 120, 40  # characters of code that a sentence quotes; of a change that says enough alone
_AXES = {"cat": (0, 1, -1), "stack": (0, 1, -1), "concat": (0, 1, -1), "mean": (0, -1), "sum": (0, -1)}

Change = tuple[str, dict[str, str], Callable[[Any], Any]]


def changes(node: ast.AST, given: str) -> Iterator[Change]:
    """(message's key, its names, what makes the changed node of a copy)"""
    if isinstance(node, ast.BinOp) and type(node.op).__name__ in (*_OPERATORS, "Pow", "MatMult"):
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
        a, b = (_part(one, given) for one in node.elts)
        names = {"a": a, "b": b} if a and b else {}
        yield "exchanged" if names else "pair", names, lambda n: ast.Tuple(n.elts[::-1], n.ctx)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        func = node.value.func
        name = getattr(func, "attr", getattr(func, "id", ""))
        yield "no-statement", {"name": name}, lambda n: ast.Pass()
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.value)):
            yield "unchanged", {"name": name}, lambda n: ast.Pass()
    elif (taken := one_of_pair(node)) is not None:
        yield "other-of-pair", {"code": taken[0], "place": str(taken[1])}, _other_of_pair
    elif isinstance(node, ast.SetComp):
        yield "several", {}, lambda n: ast.ListComp(n.elt, n.generators)
    elif isinstance(node, ast.Set):
        yield "several", {}, lambda n: ast.List(n.elts, ast.Load())
    elif isinstance(node, ast.IfExp):
        yield "branches", {}, lambda n: ast.IfExp(n.test, n.orelse, n.body)
        if text := _part(node.test, given):
            yield "condition", {"part": text}, lambda n: n.body
            yield "case", {"part": text}, lambda n: n.orelse
    elif isinstance(node, ast.If) and (text := _part(node.test, given)):
        yield "case", {"part": text}, lambda n: ast.If(ast.Constant(False), n.body, n.orelse)
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield "no-transpose", {}, lambda n: n.value
    elif isinstance(node, ast.Slice) and (node.lower is not None or node.upper is not None):
        yield "slice", {}, lambda n: ast.Slice()
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        if node.value in _THOUSANDS:
            new = _THOUSANDS[node.value]
            yield "number", {"old": str(node.value), "new": str(new)}, lambda n, new=new: ast.Constant(new)
        for step in (1, -1):
            names = {"old": str(node.value), "new": str(node.value + step)}
            yield "number", names, lambda n, step=step: ast.Constant(n.value + step)


def is_module(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in ("torch", "math", "np", "nn", "F")


def block_of(node: ast.AST, name: str) -> list:
    block = getattr(node, name, None)
    return block if isinstance(block, list) else []


def copied(node: Any) -> Any:
    """A tree as copy.deepcopy copies it, some times as fast: hundreds are made at a check."""
    if not isinstance(node, ast.AST):
        return [copied(one) for one in node] if isinstance(node, list) else node
    if isinstance(node, ast.expr_context):  # Load and Store have nothing of their own
        return node
    new = node.__class__.__new__(node.__class__)
    new.__dict__.update({name: copied(value) for name, value in node.__dict__.items()})
    return new


def one_of_pair(node: ast.AST) -> tuple[str, int] | None:
    """(over what, 0 or 1) of an expression that goes over pairs and takes one of each: max(b for _, b in pairs)."""
    if not isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp)) or len(node.generators) != 1:
        return None
    target, (loop,) = node.generators[0].target, node.generators
    names = [getattr(n, "id", "") for n in target.elts] if isinstance(target, ast.Tuple) else []
    used = {n.id for part in (node.elt, *loop.ifs) for n in ast.walk(part) if isinstance(n, ast.Name)} & set(names)
    return (ast.unparse(loop.iter), names.index(used.pop())) if len(names) == 2 and len(used) == 1 else None


def _other_of_pair(node):
    loop = node.generators[0]
    loop.target = ast.Tuple(loop.target.elts[::-1], ast.Store())
    return node


def mends(node: ast.AST, whole: bool = False) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """(message's key where there is one, change) that may make a wrong expression right: what is usually forgotten.
    whole: of a // or %, where no factor is forgotten: any that is large enough would do."""
    if _grouped(node) is not None:
        yield "grouping", _grouped
    for one in _taken_out(node):
        yield "", lambda n, one=one: copied(one)
    if isinstance(node, ast.ListComp):
        yield "several", lambda n: ast.SetComp(n.elt, n.generators)
    if _is_ceil(node):
        yield "rounds-up", lambda n: ast.BinOp(n.operand.left.operand, n.operand.op, n.operand.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv) and not isinstance(node.left, ast.UnaryOp):
        yield (
            "rounds-down",
            lambda n: ast.UnaryOp(ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), n.left), n.op, n.right)),
        )
    if isinstance(node, ast.Tuple) and any(isinstance(one, (ast.Slice, ast.Starred)) for one in node.elts):
        return  # of a subscript: it stands nowhere else
    if (
        isinstance(node, (ast.Dict, ast.JoinedStr, ast.FormattedValue, ast.Starred))  # no expressions that stand alone
        or not isinstance(node, ast.expr)
        or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    ):
        return
    if isinstance(node, ast.Compare):
        yield "", lambda n: ast.UnaryOp(ast.Not(), n)
        return
    if isinstance(node, ast.Constant) and not isinstance(node.value, (int, float)) or isinstance(node, ast.Slice):
        return
    for op, value in _MENDS[:2] if whole else _MENDS:
        yield "", lambda n, op=op, value=value: ast.BinOp(n, op(), ast.Constant(value))
    yield "", lambda n: ast.UnaryOp(ast.USub(), n)
    if isinstance(node, ast.Constant):
        return
    for name in ("set", "abs", "sorted", "len", "round", "int"):
        yield "", lambda n, name=name: _call(name, n)
    for name in _METHODS:
        yield "", lambda n, name=name: ast.parse(f"({ast.unparse(n)}).{name}", mode="eval").body
    for index in (":, None", "None", "-1", "1:", ":-1", "::-1"):
        yield "", lambda n, index=index: ast.parse(f"({ast.unparse(n)})[{index}]", mode="eval").body
    yield "", lambda n: ast.BinOp(ast.Constant(1), ast.Div(), n)
    yield "", lambda n: ast.BinOp(ast.Constant(1), ast.Sub(), n)


def across_with(tree: ast.Module, inside: set[int]) -> Iterator[tuple[str, dict[str, str], ast.Module]]:
    """(message's key, its names, the changed tree): a statement taken into a `with` block, or out of one, to the place
    in front of it or behind it. inside: lines in which a block may begin."""
    bodies = [n.body for n in ast.walk(tree) if isinstance(getattr(n, "body", None), list)]
    for b, body in enumerate(bodies):
        for k, block in enumerate(body):
            if not isinstance(block, ast.With) or block.lineno not in inside:
                continue
            head = ast.unparse(block).partition("\n")[0]
            ways = [("inside-with", body[k + 1])] if k + 1 < len(body) else []
            if len(block.body) > 1:
                ways += [("before-with", block.body[0]), ("behind-with", block.body[-1])]
            for key, moved in ways:
                other = copy.deepcopy(tree)
                around = [n.body for n in ast.walk(other) if isinstance(getattr(n, "body", None), list)][b]
                if key == "inside-with":
                    around[k].body.append(around.pop(k + 1))
                else:
                    first = key == "before-with"
                    around.insert(k if first else k + 1, around[k].body.pop(0 if first else -1))
                yield key, {"code": ast.unparse(moved), "head": head}, other


def _taken_out(node: ast.AST) -> Iterator[ast.BinOp]:
    """a * c + b for (a + b) * c, and so with - and /: a term that stands in the brackets and belongs behind them."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Mult, ast.Div)):
        return
    sides = [(node.left, lambda term: ast.BinOp(term, node.op, node.right))]
    if isinstance(node.op, ast.Mult):
        sides.append((node.right, lambda term: ast.BinOp(node.left, node.op, term)))
    for sum_, times in sides:
        if isinstance(sum_, ast.BinOp) and isinstance(sum_.op, (ast.Add, ast.Sub)):
            yield ast.BinOp(times(sum_.left), sum_.op, sum_.right)
            if isinstance(sum_.op, ast.Add):
                yield ast.BinOp(times(sum_.right), ast.Add(), sum_.left)


def _grouped(node: ast.AST) -> ast.BinOp | None:
    """x / (a + b + ...) for x / a + b + ..."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Add, ast.Sub)):
        return None
    if isinstance(node.left, ast.BinOp) and isinstance(node.left.op, (ast.Div, ast.FloorDiv, ast.Mult)):
        inner = node.left
        return ast.BinOp(inner.left, inner.op, ast.BinOp(inner.right, node.op, node.right))
    below = _grouped(node.left)
    return below and ast.BinOp(below.left, below.op, ast.BinOp(below.right, node.op, node.right))


_METHODS = "T abs() mean() sum() sqrt() square() float() contiguous() detach() item()".split()
_MENDS = [(ast.Add, 1), (ast.Sub, 1)]
# floats: a list times a million would be a list of millions
_MENDS += [
    (op, value) for value in (2.0, 1e3, 8.0, 4.0, 100.0, 1024.0, 1e6, 3.0, 16.0, 32.0) for op in (ast.Mult, ast.Div)
]
_MENDS += [(ast.Pow, 2), (ast.Pow, 0.5)]


def _call(name: str, argument: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [argument], [])


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
    if kind == "Pow":
        if getattr(node.right, "value", 0) == 2:
            yield "not-squared", {}, lambda n: n.left
        return
    if kind == "MatMult":
        yield "turned-product", {}, lambda n: ast.BinOp(n.right, n.op, n.left)
        return
    if kind in ("Mult", "Div", "FloorDiv"):
        for side, other in ("right", "left"), ("left", "right"):
            value = getattr(getattr(node, side), "value", None)
            if isinstance(value, (int, float)) and (side == "right" or kind == "Mult"):
                yield "no-factor", {"number": str(value)}, lambda n, other=other: getattr(n, other)
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
    if name == "square" and method:
        yield "not-squared", {}, lambda n: n.args[0] if n.args else n.func.value
    elif name in _AROUND and not method and len(node.args) == 1 and not node.keywords:
        yield "without-call", {"name": name}, lambda n: n.args[0]
    elif name in _AFTER and method and not node.args and not node.keywords:
        yield "without-call", {"name": name}, lambda n: n.func.value
    elif name in _AFTER and method and getattr(node.func.value, "id", "") == "torch" and len(node.args) == 1:
        yield "without-call", {"name": name}, lambda n: n.args[0]
    if name in ("reshape", "view"):
        at = next((k for k, a in enumerate(node.args) if ast.unparse(a) == "-1"), None)
        if at is not None and all(ast.unparse(a) in ("1", "-1") for a in node.args):
            for k in range(len(node.args)):
                if k != at:
                    yield "axis", {}, lambda n, k=k: ast.Call(n.func, _with_rest_at(len(n.args), k), [])
    for k, word in enumerate(node.keywords):
        if word.arg in ("min", "max"):
            old, new = word.arg, _CALLS[word.arg]
            yield "instead", {"old": f"{old}=", "new": f"{new}="}, lambda n, k=k, new=new: _with_word(n, k, new)
        if word.arg == "key" and name in ("min", "max") and len(node.args) == len(node.keywords) == 1:
            yield "its-value", {}, _its_value
        if word.arg:
            names = {"word": word.arg, "name": name}
            yield "no-keyword", names, lambda n, k=k: ast.Call(n.func, n.args, n.keywords[:k] + n.keywords[k + 1 :])
    if len(node.args) == 1 and not node.keywords and method:
        yield "no-argument", {"name": name}, lambda n: ast.Call(n.func, [], [])
    if name in ("max", "min") and not method and len(node.args) == 2:
        for k in (0, 1):
            yield "without-call", {"name": name}, lambda n, k=k: n.args[k]
        yield "added", {"name": name}, lambda n: ast.BinOp(n.args[0], ast.Add(), n.args[1])
    for value in _AXES.get(name, ()) if method else ():
        yield "axis", {}, lambda n, value=value: _along(n, value)
    if len(node.args) == 2 and not node.keywords and name not in ("max", "min"):
        yield "arguments", {"name": name}, lambda n: ast.Call(n.func, n.args[::-1], [])


def _its_value(call: ast.Call) -> ast.Call:
    """min(map(key, x)) of min(x, key=key)"""
    mapped = ast.Call(ast.Name("map", ast.Load()), [call.keywords[0].value, *call.args], [])
    return ast.Call(call.func, [mapped], [])


def _with_word(call: ast.Call, at: int, word: str) -> ast.Call:
    words = [ast.keyword(word, k.value) if i == at else k for i, k in enumerate(call.keywords)]
    return ast.Call(call.func, call.args, words)


def _with_rest_at(count: int, at: int) -> list[ast.expr]:
    return [ast.UnaryOp(ast.USub(), ast.Constant(1)) if k == at else ast.Constant(1) for k in range(count)]


def _renamed(call: ast.Call, name: str) -> ast.Call:
    func = copy.deepcopy(call.func)
    setattr(func, "attr" if isinstance(func, ast.Attribute) else "id", name)
    return ast.Call(func, call.args, call.keywords)


def _along(call: ast.Call, axis: int) -> ast.Call:
    """The same with another axis, where one is given."""
    args = [ast.Constant(axis) if k and isinstance(a, ast.Constant) else a for k, a in enumerate(call.args)]
    words = [ast.keyword(k.arg, ast.Constant(axis)) if k.arg in ("dim", "axis") else k for k in call.keywords]
    return ast.Call(call.func, args, words)


def around_number(nodes: list[ast.AST], one: ast.AST) -> str:
    """The expression that a number stands in, two levels up where that is short; "" where there is none."""
    text = ""
    for _ in range(2):
        kinds = ast.expr, ast.keyword
        above = next((n for n in nodes if isinstance(n, kinds) and one in ast.iter_child_nodes(n)), None)
        if isinstance(above, ast.keyword):
            return f"{above.arg}={ast.unparse(above.value)}"
        if above is None or len(ast.unparse(above)) > 40:
            break
        one, text = above, ast.unparse(above)
    return text


def by_chance(put: str, new: str, right: str, source: str = "") -> bool:
    """Is what would be put in a small factor, or a call around something, that stands nowhere in our text, `right`, or
    a name that the answer's, `source`, has not either? It fits these cases, no more. new: what the answer has in its
    place."""
    more = put.removeprefix(new) if new else put
    factor = re.fullmatch(r" ?[*/] ?(\d+)\.0", more)
    call = re.fullmatch(r"(sorted|set|round|int)\((.*)\)", put)
    if call and new and call[2] == new:
        return not re.search(rf"\b{call[1]}\b", right)
    if factor and len(factor[1]) < 3 and not re.search(rf"\b{factor[1]}\b", right):
        return True
    return not {*re.findall(r"\b[a-z_]\w*", put)} <= {*re.findall(r"\w+", f"{right}\n{source}")} | _COUNTERPARTS


def apart(before: str, after: str) -> tuple[str, str, str]:
    """(what differs in `before`, the same in `after`, the line of `before` around it)"""
    a, b = before.split("\n"), after.split("\n")
    first = next((k for k in range(min(len(a), len(b))) if a[k] != b[k]), min(len(a), len(b)) - 1)
    last = next((k for k in range(1, min(len(a), len(b)) - first + 1) if a[-k] != b[-k]), 1)
    one, other = ["\n".join(t[first : len(t) - last + 1]) for t in (a, b)]
    x, y = (re.findall(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\w+|\s+|\S", t) for t in (one, other))
    head = next((k for k in range(min(len(x), len(y))) if x[k] != y[k]), min(len(x), len(y)))
    tail = next((k for k in range(min(len(x), len(y)) - head) if x[-1 - k] != y[-1 - k]), min(len(x), len(y)) - head)
    taken, put = ("".join(t[head : len(t) - tail]).strip() for t in (x, y))
    while head and not (x[head : len(x) - tail] and y[head : len(y) - tail] and _whole_words(x, y, head, tail)):
        head -= 1
        if not x[head].strip() and _whole_words(x, y, head + 1, tail):
            head += 1
            break
    while head and x[head] in ("(", "[", ".") and x[head - 1].strip():  # with what is called or indexed
        head -= 1
    parts = [" ".join("".join(t[head : len(t) - tail]).split()) for t in (x, y)]
    line = " ".join(one.split())
    if len(parts[1]) > LONGEST // 2 and len(put) <= SHORT and parts[1].endswith(put) and closed(put or taken):
        # put in, or taken out, behind something long: it says enough alone
        parts = ["", put] if put else [taken, ""] if parts[0].endswith(taken) else parts
    return parts[0], parts[1], line if len(line) <= LONGEST else ""


def _whole_words(x: list[str], y: list[str], head: int, tail: int) -> bool:
    """Are both parts closed in brackets, and not both without a word?"""
    parts = ["".join(t[head : len(t) - tail]) for t in (x, y)]
    return all(map(closed, parts))


def closed(text: str) -> bool:
    """Does every bracket have its other half, the opening one first?"""
    open_: list[str] = []
    for one in text:
        if one in "([{":
            open_.append(")]}"["([{".index(one)])
        elif one in ")]}" and (not open_ or open_.pop() != one):
            return False
    return not open_
