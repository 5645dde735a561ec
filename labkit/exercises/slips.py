"""Slips that a learner's text shows, and exceptions in plain words: one sentence, "" where nothing is sure.

They are asked for where a check has failed. Each sentence is true of the text, whatever else is wrong with it.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import keyword
import re
from typing import Any

from labkit import messages
from labkit.exercises.alike import TYPES
from labkit.exercises.cases import Case, InOut, Out
from labkit.exercises.diagnose import Diagnosis
from labkit.exercises.spec import pick
from labkit.exercises.stub import CELL, Joined, Template, normalise
from labkit.source.scan import mask

# What gives a new value and changes nothing: a line that does only this throws it away.
_NEW = set(
    "replace strip lower upper join split format half float double to contiguous clone detach view reshape transpose "
    "permute sum mean max min abs sort_values groupby round sorted reversed compile clamp where stack cat pin_memory "
    "expand squeeze unsqueeze flatten softmax".split()
)
_MOVES = {"to", "half", "float", "double", "compile"}  # a module does these to itself
_MODULE = re.compile(r"(?i)model|module|net\b|layer")
_VALUES = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp)
_IN_PLACE = {"sort", "append", "extend", "reverse", "update", "clear", "insert", "remove", "shuffle"}  # they give None
_COLLECTIVES = (  # of torch.distributed: they write into a tensor that they are given
    "all_reduce reduce broadcast all_gather all_gather_into_tensor gather scatter reduce_scatter "
    "reduce_scatter_tensor all_to_all all_to_all_single barrier".split()
)
_FLAT = {"flatten", "view", "reshape", "ravel", "unbind"}  # they give a tensor, whose elements are tensors
_TAKES = {"map", "filter", "sorted", "max", "min", "reduce"}  # calls that take a function


def in_text(ours: Template, source: str, joined: Joined | None) -> str:
    """joined: the whole file with `source` in it, None where it is not Python."""
    if ours.comment == "#" and joined is not None:
        return _python(ours, joined)
    return _cpp("\n".join(ours.given()), source) if ours.comment == "//" else ""


def empty(ours: Template, source: str) -> str:
    """A region without code; of several one with a comment that was not given is left so on purpose."""

    def asked(text: str, region, raw: str) -> bool:
        given = {line.strip() for line in region.stub}
        own = [line for line in raw.splitlines() if line.strip().startswith(ours.comment) and line.strip() not in given]
        return text in ("", "pass", "...") and not (own and len(ours.regions) > 1)

    return _region(ours, source, "empty", asked)


def as_given(ours: Template, source: str) -> str:
    """A region that still is the stub, while others are not."""
    if len(ours.regions) == 1:
        return ""

    def asked(text: str, region, _raw: str) -> bool:
        return bool(region.stub) and text == normalise("\n".join(region.stub), ours.comment)

    return _region(ours, source, "as-given", asked)


def lacking(ours: Template, source: str) -> str:
    """What our text has and the answer's has not, as a fact: a loop; names that are given. "" for nothing such."""
    mine, right = normalise(source, ours.comment), normalise("\n".join(ours.bodies()), ours.comment)
    loop = re.search(r"(?m)^\s*((?:for|while)\b.*?)[:{]*\s*$", "\n".join(ours.bodies()))
    if loop and not re.search(r"\b(for|while)\b", mine):
        return messages.text("slip.no-loop", code=loop[1].strip().rstrip(":{ "))
    told = "\n".join(ours.given())
    code = normalise(re.sub(r'"""[\s\S]*?"""', "", told), ours.comment)
    own = set(re.findall(r"(?m)\b([A-Za-z_]\w*)\s*=(?!=)|\bfor (\w+) in\b", "\n".join(ours.bodies())))
    own = {name for pair in own for name in pair} - set(re.findall(r"[A-Za-z_]\w*", code))  # a word of the prose only
    given = set(re.findall(r"[A-Za-z_]\w*", told)) - own
    used = [w for w in dict.fromkeys(re.findall(r"(?<![.\w])[A-Za-z_]\w*", right)) if w in given and w not in TYPES]
    unused = [w for w in used if not re.search(rf"\b{w}\b", mine) and w not in keyword.kwlist]
    if not unused and ours.comment == "#":  # a text that is compared with, and in the answer with nothing
        unused = [w for w in dict.fromkeys(re.findall(r"[=!]= (\"\w+\"|'\w+')", right)) if w[1:-1] not in mine]
    if not unused or len(unused) > 3:
        return ""
    return messages.text("slip.unused", names=", ".join(f"`{w}`" for w in unused))


def _region(ours: Template, source: str, key: str, asked) -> str:
    for k, ((text, _), region) in enumerate(zip(ours.split(source), ours.regions), 1):
        if asked(normalise(text, ours.comment), region, text):
            return messages.text(
                f"slip.{key}" + ("-one" if len(ours.regions) == 1 else ""), k=k, task=pick(region.todo)
            )
    return ""


# ---- C++


def _cpp(given: str, source: str) -> str:
    code = re.sub(r"//[^\n]*", "", source)
    for call in re.finditer(r"\.(EnQue|FreeTensor)\s*(?:<[^<>]*>)?\(\s*(\w+)\s*\)", code):
        name, behind = call[2], code[call.end() :]
        again = re.search(rf"\b{name}\s*=[^=]|\}}", behind)  # taken anew, or the end of a block
        used = re.search(rf"\b([A-Z]\w*)\s*\((?:[^()]*,)?\s*{name}\b", behind[: again.start() if again else None])
        if used and used[1] not in ("EnQue", "FreeTensor"):
            reads = call[1] == "EnQue" and "," in used[0]
            how = "not-dequeued" if reads else f"{call[1].lower()}-early"
            return messages.text(f"slip.{how}", name=name, call=used[1])
    if guard := re.search(r"(?m)^\s*((?:\w+::)*\w*(?:Guard|lock_guard|AutoDispatch\w+))\s*[({][^;]*[)}]\s*;", code):
        return messages.text("slip.guard", code=guard[1], type=guard[1])
    for pattern, key in (
        (r"\bDataCopyExtParams\s*(?:\w+\s*)?[({][^,(){};]*,", "DataCopyExtParams"),
        (r"\bInitBuffer\s*\([^,;]+,[^,;]+,", "InitBuffer"),
    ):
        for call in re.finditer(pattern, code):
            length = re.match(r"(?:[^(),;]|\((?:[^()]|\([^()]*\))*\))*", code[call.end() :])[0].strip()
            if _no_bytes(length, given + code):
                return messages.text("slip.bytes", call=key, length=length)
    return ""


def _no_bytes(length: str, text: str) -> bool:
    """Is it a name, or a product of names, that no `sizeof` went into?"""
    names = re.findall(r"[A-Za-z_]\w*", length)
    if not names or re.search(r"sizeof|[Bb]yte|BYTE|[Ss]ize|\b(2|4|8|16|32|64)\b", length):
        return False
    return not any(re.search(rf"\b{n}\s*[=({{][^;]*(sizeof|[Bb]yte|BYTE)", text) for n in names)


# ---- Python


def _python(ours: Template, joined: Joined) -> str:
    try:
        tree, solution = ast.parse(joined.text), ast.parse("\n".join(ours.lines))
    except SyntaxError:
        return ""
    mine = [n for n in ast.walk(tree) if hasattr(n, "lineno") and joined.place(n.lineno)[0] == CELL]
    last = {n.body[-1] for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}  # there it lacks a `return`
    kept = {id(n.body if isinstance(n, ast.Lambda) else n.value) for n in mine if isinstance(n, (ast.Lambda, ast.Expr))}
    asked = {ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    for node in mine:
        if isinstance(node, ast.Call) and _called(node) in ("set", "Counter") and node.args:
            flat = node.args[0]
            of_numpy = re.search(r"\b(np|numpy)\b", ast.unparse(flat))  # there they are numbers
            if isinstance(flat, ast.Call) and _called(flat) in _FLAT and not of_numpy:
                return messages.text("slip.set-of-tensor", code=_shown(node))
        if isinstance(node, ast.Call) and id(node) not in kept and _is_collective(node):
            return messages.text("slip.in-place", code=_shown(node))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_new(node.value, asked):
            return messages.text("slip.thrown-away", code=_shown(node.value))
        if isinstance(node, ast.Expr) and isinstance(node.value, _VALUES) and node not in last:
            return messages.text("slip.thrown-away", code=_shown(node.value))
    inside = {n for r in ours.regions for n in range(r.first, r.last + 1)}
    theirs = [n for n in ast.walk(solution) if getattr(n, "lineno", 0) in inside]
    adds = {ast.unparse(n.func.value) for n in theirs if isinstance(n, ast.Call) and _called(n) == "extend"}
    adds |= {ast.unparse(n.target) for n in theirs if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add)}
    for node in mine:
        if (
            isinstance(node, ast.Call)
            and _called(node) == "append"
            and ast.unparse(node.func).split(".append")[0] in adds
        ):
            return messages.text("slip.append", code=_shown(node))
    always = {_called(n) for n in theirs if isinstance(n, ast.Call)} - _named(theirs)
    always -= {name for name, thing in vars(builtins).items() if isinstance(thing, type)}  # an annotation, an `except`
    given = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    given |= {n.id for n in mine if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # a value of their own
    bare = (_named(mine) & always) - {_called(n) for n in mine if isinstance(n, ast.Call)} - given
    return messages.text("slip.not-called", name=min(bare)) if bare else ""


def _is_new(call: ast.Call, asked: set[str]) -> bool:
    """Whether all that the call does is to give a new value. asked: what the file calls, as no tensor is."""
    name, of = _called(call), ast.unparse(getattr(call.func, "value", call.func))
    if name in _MOVES and (of in asked or _MODULE.search(of)):
        return False
    waits = name == "join" and not call.args  # for a thread
    return name in _NEW and not waits and not any(k.arg in ("out", "inplace") for k in call.keywords)


def _is_collective(call: ast.Call) -> bool:
    """One of torch.distributed that waits, and so gives None."""
    name = ast.unparse(call.func)
    waits = not any(k.arg == "async_op" for k in call.keywords)
    return waits and re.fullmatch(rf"(?:torch\.distributed|dist)\.(?:{'|'.join(_COLLECTIVES)})", name) is not None


def same_load(ours: Template, source: str) -> str:
    """A tl.load of a Triton loop whose address is the same in each turn: right, and too slow."""
    try:
        tree = ast.parse(ours.join(source, "exercise").text)
    except SyntaxError:
        return ""
    for loop in (n for n in ast.walk(tree) if isinstance(n, (ast.For, ast.While))):
        inside = [n for statement in loop.body for n in ast.walk(statement)]
        target = list(ast.walk(loop.target)) if isinstance(loop, ast.For) else []
        changed = {n.id for n in (*inside, *target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for call in (n for n in inside if isinstance(n, ast.Call) and _called(n) == "load" and n.args):
            if not changed & {n.id for n in ast.walk(call) if isinstance(n, ast.Name)}:
                return messages.text("slip.same-load", code=_shown(call))
    return ""


def no_return(ours: Template, joined: Joined) -> tuple[str, bool]:
    """(sentence, is it sure) of a function that ours leaves by `return` alone: the learner's never does, or may come
    to its end without; which of the two ways a case takes only a run can tell."""
    try:
        tree, solution = ast.parse(joined.text), ast.parse("\n".join(ours.lines))
    except SyntaxError:
        return "", False
    theirs = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    for right in (n for n in solution.body if isinstance(n, ast.FunctionDef)):
        mine = theirs.get(right.name)
        if mine is None or not _gives(right) or _ends(right.body) or any(map(_yields, (mine, right))):
            continue
        if not _gives(mine):
            return messages.text("slip.no-return"), True
        if _ends(mine.body):
            return messages.text("slip.no-return-here"), False
    return "", False


def _own(function: ast.FunctionDef) -> list[ast.AST]:
    """Its nodes without those of functions inside it."""
    out, todo = [], list(function.body)
    while todo:
        node = todo.pop()
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            out.append(node)
            todo += ast.iter_child_nodes(node)
    return out


def _gives(function: ast.FunctionDef) -> bool:
    return any(isinstance(n, ast.Return) and n.value is not None for n in _own(function))


def _yields(function: ast.FunctionDef) -> bool:
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in _own(function))


def _ends(body: list[ast.stmt]) -> bool:
    """May its end be reached?"""
    for one in body:
        if isinstance(one, (ast.Return, ast.Raise)):
            return False
        if isinstance(one, ast.If) and one.orelse and not _ends(one.body) and not _ends(one.orelse):
            return False
        if isinstance(one, ast.With) and not _ends(one.body):
            return False
        if isinstance(one, ast.While) and getattr(one.test, "value", 0) is True:
            if not any(isinstance(n, ast.Break) for n in ast.walk(one)):
                return False
        if isinstance(one, ast.Try) and not _ends(one.body) and not any(_ends(h.body) for h in one.handlers):
            return False
        if isinstance(one, (ast.Match)) and not any(_ends(c.body) for c in one.cases):
            return False
    return True


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _named(nodes: list[ast.AST]) -> set[str]:
    """Names that stand without brackets behind them, and are handed to no function."""
    handed = {id(child) for n in nodes if isinstance(n, ast.Call) for child in (n.func, *n.args)}
    handed |= {id(k.value) for n in nodes if isinstance(n, ast.Call) for k in n.keywords}
    handed |= {id(n.value) for n in nodes if isinstance(n, ast.Attribute)}
    return {
        getattr(n, "attr", getattr(n, "id", ""))
        for n in nodes
        if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load) and id(n) not in handed
    }


def _shown(node: ast.AST, most: int = 40) -> str:
    text = ast.unparse(node)
    return text if len(text) <= most else text[: most - 3] + "..."


_PURE = {"len", "min", "max", "abs", "sum", "any", "all", "int", "float", "round", "range", "print"}


def _root(node: ast.AST) -> str:
    """The name in front: x of x[0].y."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return getattr(node, "id", "")


def endless(joined: Joined, line: int) -> str:
    """What the loop around `line` of the cell does not change."""
    try:
        tree = ast.parse(joined.text)
    except SyntaxError:
        return ""
    at = next((n for n, place in enumerate(joined.origin, 1) if place == (CELL, line)), 0)
    loops = [n for n in ast.walk(tree) if isinstance(n, ast.While) and n.lineno <= at <= n.end_lineno]
    if not loops:
        return ""
    loop = max(loops, key=lambda n: n.lineno)
    inside = [n for part in (loop.test, *loop.body) for n in ast.walk(part)]
    test = list(ast.walk(loop.test))
    if any(isinstance(n, (ast.Break, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom)) for n in inside):
        return ""
    if any(isinstance(n, ast.Call) and _called(n) not in _PURE for n in test):  # next(it) is another one each time
        return ""
    changed = {_root(n) for n in inside if isinstance(getattr(n, "ctx", None), (ast.Store, ast.Del))}
    calls = [n for n in inside if isinstance(n, ast.Call) and _called(n) not in _PURE]
    changed |= {_root(n.func) for n in calls if isinstance(n.func, ast.Attribute)}
    # a list that a function is given may change in it, a number cannot
    less = [n for n in test if isinstance(n, ast.Compare) and isinstance(n.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE))]
    numbers = {_root(n) for c in less for n in (c.left, *c.comparators) if isinstance(n, ast.Name)}
    changed |= {_root(a) for n in calls for a in n.args} - numbers
    asked = {n.id for n in test if isinstance(n, ast.Name)} - _PURE
    if asked & changed:
        return ""
    names = ", ".join(f"`{n}`" for n in sorted(asked))
    return messages.text("slip.endless" if names else "slip.endless-true", names=names)


# ---- exceptions


def of_error(error: BaseException, name: str) -> str:
    """An exception that Python code of the file `name` raised."""
    frame, traceback = None, error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == name:
            frame, line = traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
    if frame is None:
        return ""
    tree = _statement(name, line)
    known = {**frame.f_globals, **frame.f_locals}
    text = str(error)
    if isinstance(error, ZeroDivisionError):
        zero = [n for n in _divisors(tree) if isinstance(known.get(n), (int, float)) and known[n] == 0]
        return messages.text("slip.zero", name=zero[0]) if zero else ""
    if isinstance(error, UnboundLocalError):
        return messages.text("slip.unbound", name=(re.findall(r"'(\w+)'", text) or ["?"])[0])
    if isinstance(error, NameError):
        mine = [n for n in frame.f_locals if not n.startswith(("_", "."))]
        return _unknown(getattr(error, "name", "") or "", [n for n in known if not n.startswith("__")], "", mine)
    if isinstance(error, RecursionError):
        return messages.text("slip.recursion")
    if "NoneType" in text and isinstance(error, (TypeError, AttributeError)):
        return _none(tree, known)
    if isinstance(error, AttributeError):
        thing = getattr(error, "obj", None)
        if isinstance(thing, type):
            return messages.text("slip.class", name=getattr(error, "name", "") or "", kind=thing.__name__)
        return _unknown(getattr(error, "name", "") or "", dir(thing), type(thing).__name__) if thing is not None else ""
    if isinstance(error, TypeError) and "float" in text and re.search(r"integer|\bint\b|'int'", text):
        return messages.text("slip.float")
    return ""


def _statement(name: str, line: int) -> ast.AST | None:
    import linecache

    try:
        tree = ast.parse("".join(linecache.getlines(name)))
    except SyntaxError:
        return None
    found = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno <= line <= n.end_lineno]
    return max(found, key=lambda n: n.lineno, default=None)


def _divisors(tree: ast.AST | None) -> list[str]:
    pairs = [n for n in ast.walk(tree) if isinstance(n, ast.BinOp)] if tree else []
    divisors = [n.right for n in pairs if isinstance(n.op, (ast.Div, ast.FloorDiv, ast.Mod))]
    return [n.id for n in divisors if isinstance(n, ast.Name)]


def _none(tree: ast.AST | None, known: dict[str, Any]) -> str:
    nodes = list(ast.walk(tree)) if tree else []
    kept = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}
    for n in nodes:
        if (
            isinstance(n, ast.Call)
            and isinstance(n.func, ast.Attribute)
            and n.func.attr in _IN_PLACE
            and id(n) not in kept
        ):
            return messages.text("slip.in-place", code=_shown(n))
    none = [n.id for n in nodes if isinstance(n, ast.Name) and n.id in known and known[n.id] is None]
    return messages.text("slip.is-none", name=none[0]) if none else ""


def _unknown(name: str, there: list[str], kind: str, mine: list[str] = ()) -> str:
    """mine: the names that the function itself has, shown where none is near and they are few."""
    if not name:
        return ""
    close = next(iter(difflib.get_close_matches(name, there, 1, 0.7)), "")
    key = ("attribute" if kind else "name") + ("-close" if close else "")
    if key == "name" and 0 < len(mine) <= 8:
        key, close = "name-there", ", ".join(f"`{n}`" for n in mine)
    return messages.text(f"slip.{key}", name=name, close=close, kind=kind)


# ---- an address


def _in_bytes(found: Diagnosis) -> str:
    """An instruction takes just as many times what its tensor has as an element has bytes."""
    need, have = (found.numbers.get(name, 0) for name in ("need", "have"))
    times = need // have if found.key == "local-bounds" and have and need % have == 0 else 0
    return messages.text("slip.in-bytes", need=need, have=have, times=times) if times in (2, 4, 8) else ""


def past_the_end(found: Diagnosis, case: Case, line: str, text: str, entry: str) -> str:
    """Of an access behind a tensor's end: what made it so long. The arguments are those of _row_length."""
    return _in_bytes(found) or _row_length(found, case, line, text, entry)


def _row_length(found: Diagnosis, case: Case, line: str, text: str, entry: str) -> str:
    """Of an access behind a tensor's end (gm-bounds): which name in the index is longer than a row of the tensor, ""
    where the numbers do not show it exactly.

    line: the line of code; text: the file with the kernel `entry`, whose scalar arguments give names their values.
    A row of the tensor has `width` elements; the index is some row times a longer name, and the offset is just that.
    """
    if found.key != "gm-bounds" or not isinstance(argument := found.numbers.get("argument"), int):
        return ""
    shape, size = _shape(case.args[argument]) if argument < len(case.args) else ((), 0)
    indices = re.findall(r"\w+\[\s*(\w+)\s*\*\s*(\w+)\s*\]", line)
    if len(shape) < 2 or len(indices) != 1:
        return ""
    width, offset = shape[-1], found.numbers.get("offset", -1)
    rows = found.numbers.get("size", 0) // (width * size or 1)
    values = _scalars(case, text, entry)
    for name, other in (indices[0], indices[0][::-1]):
        length = values.get(name, 0)
        fits = offset > 0 and length > width and offset % (length * size) == 0 and offset // (length * size) < rows
        if fits and other not in values:
            index = re.search(r"\w+\[[^\]]*\]", line)[0]
            return messages.text(
                "slip.row-length",
                index=index,
                tensor=found.numbers.get("tensor", "?"),
                width=width,
                name=name,
                length=length,
            )
    return ""


def _shape(argument) -> tuple[tuple[int, ...], int]:
    """(shape, bytes of an element)"""
    if isinstance(argument, Out):
        import torch

        dtype = getattr(torch, argument.dtype) if isinstance(argument.dtype, str) else argument.dtype
        shape = (argument.shape,) if isinstance(argument.shape, int) else tuple(argument.shape)
        return shape, dtype.itemsize
    tensor = argument.tensor if isinstance(argument, InOut) else argument
    return (tuple(tensor.shape), tensor.dtype.itemsize) if hasattr(tensor, "shape") else ((), 0)


def _scalars(case: Case, text: str, entry: str) -> dict[str, int]:
    found = re.search(rf"__global__[^;{{]*?\b{re.escape(entry)}\s*\(([^)]*)\)", text)
    names = [part.split()[-1].lstrip("*&") for part in found[1].split(",") if part.split()] if found else []
    if len(names) != len(case.args):
        return {}
    return {name: arg for name, arg in zip(names, case.args) if isinstance(arg, int)}


# ---- brackets

_PAIRS = {")": "(", "]": "[", "}": "{"}
# What is no code: comments and strings. Each line of it stays a line.
_PYTHON = re.compile(r"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


def unbalanced(text: str, comment: str = "//") -> tuple[int, str, bool] | None:
    """What a region leaves open, or closes once too often, where the compiler names a line far below:
    (line from 1, bracket, is it open) of the first bracket without a partner; None where all have one."""
    in_python = comment != "//"
    code = _PYTHON.sub(lambda m: "\n" * m[0].count("\n") or " ", text) if in_python else mask(text, directives=False)
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
