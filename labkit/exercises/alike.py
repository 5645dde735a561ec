"""What the text of a wrong answer has in common with a known-wrong solution.

Two Python texts that differ only in names of their own, in names for parts that are used once, in `a += b` for
`a = a + b`, in torch.f(x) for x.f(), are the same text here. Of a known-wrong solution the marks are where it differs
from ours: an answer bears them if it has what was put in, and not what was taken out.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import difflib
import keyword
import re

from labkit.exercises.stub import CELL, Template, normalise

ALIKE = 0.8  # share of the words in order

TYPES = {
    "uint32_t",
    "int32_t",
    "uint64_t",
    "int64_t",
    "uint8_t",
    "auto",
    "half",
    "float",
    "double",
    "int",
    "bool",
    "void",
}
# Words that are nobody's own name.
KEPT = {*keyword.kwlist, *dir(builtins), *TYPES} | set(
    "const constexpr static inline template typename true false sizeof static_cast for if else while return".split()
)
_WORD = r"[\w#\"']"


def words(ours: Template, source: str) -> list[str]:
    """The words of the learner's regions, with names that nobody else uses numbered in the order in which they come."""
    if ours.comment == "#":
        try:
            return _of_tree(ours, source)
        except (SyntaxError, ValueError):
            pass
    return _of_text(ours, "\n----\n".join(text for text, _ in ours.split(source)))


def bears(ours: Template, source: str, wrong: str, lenient: bool = False) -> bool:
    """Has `source` the marks by which the known-wrong cell `wrong` differs from our solution?
    lenient: most of the words in common are enough."""
    mine, theirs, right = (_plain(words(ours, text)) for text in (source, wrong, ours.solution()))
    if mine == theirs or _same_sums(ours, source, wrong) or _same_conditions(ours, source, wrong):
        return True
    if _as_ours(mine, right, theirs):
        return False
    if lenient and _ratio(mine, theirs) >= ALIKE:
        return True
    new = {w for w in theirs if re.match(_WORD, w) and theirs.count(w) > right.count(w)}
    if any(mine.count(w) < theirs.count(w) for w in new if w != "#"):
        return False
    if _by_names(ours, source, wrong):
        return True
    marked = True
    for a, b, c, d in _steps(right, theirs):
        put = theirs[max(0, c - 1) : d + 1]
        if (out := _trimmed(right[a:b])) and _within(out, mine) > _within(out, theirs):
            return False
        marked &= _within(put, mine) > 0 if d > c else bool(out)
    return marked or _ratio(mine, theirs) >= ALIKE


def whole(ours: Template, source: str) -> str:
    """The file with the learner's part in it, "" where that is no Python."""
    with contextlib.suppress(SyntaxError):
        return ast.unparse(ast.parse(ours.join(source, "exercise").text))
    return ""


def common(one: str, other: str) -> float:
    """The share of words in common, in whatever order."""
    return difflib.SequenceMatcher(
        None, *(re.findall(r"\w+|\S", text) for text in (one, other)), autojunk=False
    ).quick_ratio()


def nearest(ours: Template, source: str, texts: dict[str, str]) -> str:
    """The sentence of the variation whose text is nearest to the learner's, "" where two are equally near."""
    if not (mine := whole(ours, source)):
        return ""
    near = {say: difflib.SequenceMatcher(None, mine, text, autojunk=False).ratio() for say, text in texts.items()}
    best = [say for say in near if near[say] == max(near.values())]
    return best[0] if len(best) == 1 else ""


def has_what_it_lacks(ours: Template, source: str, wrong: str) -> bool:
    """Has `source` all that the known-wrong cell `wrong` leaves out of ours, where it does nothing but leave out?"""
    mine, theirs, right = (_plain(words(ours, text)) for text in (source, wrong, ours.solution()))
    gone = {w for w in set(right) - set(theirs) if re.match(r"[A-Za-z_\"']", w)}
    put = [w for w in set(theirs) if re.match(_WORD, w) and w != "#" and theirs.count(w) > right.count(w)]
    return bool(gone) and not put and all(mine.count(w) >= right.count(w) for w in gone)


def _as_ours(mine: list[str], right: list[str], theirs: list[str]) -> bool:
    """Does the answer read like ours wherever the known-wrong one differs from it, signs such as > and >= included?"""
    for kind, a, b, c, d in difflib.SequenceMatcher(None, right, theirs, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        ours, wrong = right[max(0, a - 2) : b + 2], theirs[max(0, c - 2) : d + 2]
        if _within(ours, mine) < _within(ours, right) or _within(wrong, mine) > _within(wrong, right):
            return False
    return True


def _by_names(ours: Template, source: str, wrong: str) -> bool:
    """Are the attributes and calls that were put in all there, and those that were taken out all gone?"""
    given = set(re.findall(r"\w+", "\n".join(ours.given())))

    def named(text: str) -> set[str]:
        text = normalise(text, ours.comment)
        chains = re.findall(r"(?<![\w.])[A-Za-z_]\w*(?:\.\w+)+", text)
        return {c for c in chains if c.split(".")[0] in given} | set(re.findall(r"\w+(?=\()", text))

    mine, theirs, right = map(named, (source, wrong, ours.solution()))
    return bool(theirs ^ right) and theirs - right <= mine and not (right - theirs) & mine


def _steps(right: list[str], theirs: list[str], near: int = 6) -> list[list[int]]:
    """[first, end, first, end] of what differs; places that are near to each other are one."""
    out: list[list[int]] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, right, theirs, autojunk=False).get_opcodes():
        if kind != "equal":
            if out and a - out[-1][1] < near:
                out[-1][1], out[-1][3] = b, d
            else:
                out.append([a, b, c, d])
    return out


def _plain(those: list[str]) -> list[str]:
    return [("#" if w.startswith("#") and w != "#" else w) for w in those]


def _trimmed(part: list[str]) -> list[str]:
    """From its first word to its last."""
    at = [k for k, w in enumerate(part) if re.match(_WORD, w)]
    return part[at[0] : at[-1] + 1] if at else []


def _ratio(mine: list[str], theirs: list[str]) -> float:
    mine, theirs = ([w for w in those if re.match(_WORD, w)] for those in (mine, theirs))
    return difflib.SequenceMatcher(None, mine, theirs, autojunk=False).ratio()


def _within(part: list[str], whole: list[str]) -> int:
    return sum(whole[k : k + len(part)] == part for k in range(len(whole) - len(part) + 1)) if part else 0


def _of_text(ours: Template, source: str) -> list[str]:
    text = normalise(re.sub(r'""".*?"""|"[^"\n]*"', "", "\n".join(ours.given()), flags=re.S), ours.comment)
    given, own, out = set(re.findall(r"\w+", text)), {}, []
    for line in normalise(source, ours.comment).split("\n"):
        those = re.findall(r'\w+|"[^"\n]*"|\'[^\'\n]*\'|\S', line)
        # f(name=value), as ast.unparse writes it: the name is the function's, not the learner's
        keywords = set(re.findall(r"\b(\w+)=(?!=)", line)) if ours.comment == "#" else set()
        for k, word in enumerate(those):
            bound = re.match(r"[a-z]\w*$", word) and word not in given and (k == 0 or those[k - 1] != ".")
            called = those[k + 1 : k + 2] == ["("] or word in KEPT or word in keywords
            out.append(f"#{own.setdefault(word, len(own))}" if bound and not called else word)
    return out


# ---- Python


def _same_sums(ours: Template, source: str, wrong: str) -> bool:
    """Are the two the same but for the order in which sums and products are written, and for parentheses?"""
    if ours.comment != "#":
        return False
    with contextlib.suppress(SyntaxError, ValueError):
        return _of_tree(ours, source, sums=True) == _of_tree(ours, wrong, sums=True)
    return False


def _same_conditions(ours: Template, source: str, wrong: str) -> bool:
    """Do the two say yes under the same conditions, however these are put together?"""
    mine = conditions(ours, source)
    return mine != "" and mine == conditions(ours, wrong)


def _of_tree(ours: Template, source: str, sums: bool = False) -> list[str]:
    joined = ours.join(source, "exercise")
    mine = {n for n, (kind, _) in enumerate(joined.origin, 1) if kind == CELL}
    tree = plain(ast.parse(joined.text), mine)
    if sums:
        tree = ast.fix_missing_locations(_Sums().visit(tree))
    told: dict[int, list[str]] = {}  # line -> words of the outermost statement there
    within: set[int] = set()
    for node in ast.walk(tree):  # from the outside in
        if isinstance(node, ast.stmt) and node.lineno in mine and id(node) not in within:
            within |= {id(n) for n in ast.walk(node)}
            told[node.lineno] = ast.unparse(node).split("\n")
    lines = [">" * ((len(line) - len(line.lstrip())) // 4) + line + ";" for n in sorted(told) for line in told[n]]
    return _of_text(ours, "\n".join(lines))


def plain(tree: ast.Module, mine: set[int]) -> ast.Module:
    """The same program, with what is a matter of taste written in one way. mine: the lines of the learner."""
    tree = _Forms().visit(copy.deepcopy(tree))
    for function in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
        for _ in range(20):
            if not _put_in(function, mine):
                break
    return ast.fix_missing_locations(tree)


class _Forms(ast.NodeTransformer):
    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        left = ast.Name(node.target.id, ast.Load())
        return ast.copy_location(ast.Assign([node.target], ast.BinOp(left, node.op, node.value)), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        f = node.func
        if isinstance(f, ast.Attribute) and getattr(f.value, "id", "") == "torch" and node.args:
            if f.attr in _METHODS:
                node.func, node.args = ast.Attribute(node.args[0], f.attr, ast.Load()), node.args[1:]
        f = node.func
        if isinstance(f, ast.Attribute) and f.attr == "view":
            f.attr = "reshape"
        if isinstance(f, ast.Attribute) and f.attr == "square" and not node.args:
            return ast.copy_location(ast.BinOp(f.value, ast.Pow(), ast.Constant(2)), node)
        return node


_METHODS = set(
    "sqrt exp abs sum mean max min matmul reshape transpose square amax amin argmax argmin log rsqrt".split()
)


def _put_in(function: ast.FunctionDef, mine: set[int]) -> bool:
    """Puts the value of one name that is assigned once and used once, later in the same block, in its place."""
    names = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
    stored = [n.id for n in names if not isinstance(n.ctx, ast.Load)]
    loaded = [n.id for n in names if isinstance(n.ctx, ast.Load)]
    for node in ast.walk(function):
        body = getattr(node, "body", None)
        for k, one in enumerate(body if isinstance(body, list) else []):
            if not isinstance(one, ast.Assign) or one.lineno not in mine or len(one.targets) != 1:
                continue
            if not isinstance(one.targets[0], ast.Name):
                continue
            name = one.targets[0].id
            if stored.count(name) == 1 and loaded.count(name) == 1:
                rest = [n for later in body[k + 1 :] for n in ast.walk(later) if isinstance(n, ast.Name)]
                if any(n.id == name and n.lineno in mine for n in rest):
                    del body[k]
                    _Name(name, one.value).visit(node)
                    return True
    return False


class _Name(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr):
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.value if node.id == self.name and isinstance(node.ctx, ast.Load) else node


TERMS = 40  # of a sum that is multiplied out


class _Sums(ast.NodeTransformer):
    """Sums and products multiplied out and in one order; a comparison as what is below 0, or 0. For numbers alone: of
    texts and lists the order matters, so that two answers that are the same here must give the same results as well.
    """

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        terms = _terms(node, self)
        return node if terms is None else ast.copy_location(_sum_of(terms), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        op = node.ops[0]
        if len(node.ops) > 1 or not isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
            return self.generic_visit(node)
        sides = [node.left, node.comparators[0]]
        if isinstance(op, (ast.Gt, ast.GtE)):
            sides, op = sides[::-1], ast.Lt() if isinstance(op, ast.Gt) else ast.LtE()
        terms = _terms(ast.BinOp(sides[0], ast.Sub(), sides[1]), self)
        return ast.copy_location(ast.Compare(_sum_of(terms), [op], [ast.Constant(0)]), node) if terms else node


def _terms(node: ast.expr, inner: ast.NodeTransformer) -> dict[tuple[str, ...], float] | None:
    """Factors of a term -> its number; None where they are too many."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return {(): node.value}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        a = _terms(node.operand, inner)
        return None if a is None else {k: -n for k, n in a.items()}
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
        return {(ast.unparse(inner.generic_visit(node) if isinstance(node, ast.BinOp) else inner.visit(node)),): 1}
    a, b = _terms(node.left, inner), _terms(node.right, inner)
    if a is None or b is None or len(a) * len(b) > TERMS:
        return None
    if isinstance(node.op, ast.Div):
        b = {(f"1 / ({ast.unparse(_sum_of(b))})",): 1}
    out: dict[tuple[str, ...], float] = {}
    if isinstance(node.op, (ast.Mult, ast.Div)):
        for one, n in a.items():
            for other, m in b.items():
                key = tuple(sorted((*one, *other)))
                out[key] = out.get(key, 0) + n * m
    else:
        sign = -1 if isinstance(node.op, ast.Sub) else 1
        for key in {**a, **b}:
            out[key] = a.get(key, 0) + sign * b.get(key, 0)
    return {key: n for key, n in out.items() if n}


def _sum_of(terms: dict[tuple[str, ...], float]) -> ast.expr:
    parts = [" * ".join([f"({n!r})", *(f"({f})" for f in key)]) for key, n in sorted(terms.items())]
    return ast.parse(" + ".join(parts) or "0", mode="eval").body


# ---- conditions: one form of what a function that says yes or no asks for


def conditions(ours: Template, source: str) -> str:
    """Under which conditions the function that the learner's part stands in says yes, in one form: conditions joined by
    and, or, not in one order, early returns and names for parts resolved. "" where it does anything else."""
    if ours.comment != "#":
        return ""
    with contextlib.suppress(SyntaxError, ValueError):
        joined = ours.join(source, "exercise")
        mine = {n for n, (kind, _) in enumerate(joined.origin, 1) if kind == CELL}
        for function in ast.walk(ast.parse(joined.text)):
            if isinstance(function, ast.FunctionDef) and mine & set(range(function.lineno, function.end_lineno + 1)):
                said = _said(function.body, {})
                return "" if said is None else _written(said)
    return ""


_Said = tuple  # ("and", parts), ("or", parts), ("is", text), ("not", text)
_YES, _NO = ("and", frozenset()), ("or", frozenset())


def _said(body: list[ast.stmt], names: dict[str, ast.expr]) -> _Said | None:
    """What a block of early returns says at last; None for another kind of block."""
    for k, one in enumerate(body):
        rest = body[k + 1 :]
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
            continue
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
            names = {**names, one.targets[0].id: _put(one.value, names)}
            continue
        if isinstance(one, ast.Return) and one.value is not None:
            return _asked(_put(one.value, names))
        if isinstance(one, ast.If):
            asked = _asked(_put(one.test, names))
            yes, no = _said([*one.body, *rest], names), _said([*one.orelse, *rest], names)
            if yes is None or no is None:
                return None
            return _either(_both(asked, yes), _both(_not(asked), no))
        if (
            isinstance(one, ast.For)
            and isinstance(one.iter, (ast.Tuple, ast.List))
            and isinstance(one.target, ast.Name)
        ):
            turns = [ast.Assign([one.target], value) for value in one.iter.elts]
            return _said([step for turn in turns for step in (turn, *one.body)] + rest, names)
        return None
    return None


def _listed(loop: ast.For | ast.comprehension) -> list[ast.expr]:
    """What it goes over, where that is written out: for t in (gate, up)."""
    plain = isinstance(loop.target, ast.Name) and isinstance(loop.iter, (ast.Tuple, ast.List))
    return loop.iter.elts if plain else []


def _put(value: ast.expr, names: dict[str, ast.expr]) -> ast.expr:
    class Put(ast.NodeTransformer):
        def visit_Name(self, node):
            return copy.deepcopy(names[node.id]) if node.id in names else node

    return Put().visit(copy.deepcopy(value))


def _asked(value: ast.expr) -> _Said:
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        return _YES if value.value else _NO
    if isinstance(value, ast.BoolOp):
        join = _both if isinstance(value.op, ast.And) else _either
        return join(*map(_asked, value.values))
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        return _not(_asked(value.operand))
    if isinstance(value, ast.Call) and getattr(value.func, "id", "") in ("all", "any") and len(value.args) == 1:
        made = value.args[0]
        if isinstance(made, (ast.Tuple, ast.List)):
            return (_both if value.func.id == "all" else _either)(*map(_asked, made.elts))
        if isinstance(made, (ast.GeneratorExp, ast.ListComp)) and len(made.generators) == 1:
            one = made.generators[0]
            if (listed := _listed(one)) and not one.ifs:
                each = [_asked(_put(made.elt, {one.target.id: value})) for value in listed]
                return (_both if value.func.id == "all" else _either)(*each)
    if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "bool" and len(value.args) == 1:
        return _asked(value.args[0])
    if isinstance(value, ast.Compare):
        sides = [value.left, *value.comparators]
        return _both(*(_compared(a, op, b) for a, op, b in zip(sides, value.ops, sides[1:])))
    if isinstance(value, ast.IfExp):
        asked = _asked(value.test)
        return _either(_both(asked, _asked(value.body)), _both(_not(asked), _asked(value.orelse)))
    return ("is", ast.unparse(_Sums().visit(value)))


def _compared(a: ast.expr, op: ast.cmpop, b: ast.expr) -> _Said:
    if isinstance(op, (ast.In, ast.NotIn)) and isinstance(b, (ast.Tuple, ast.List, ast.Set)):
        found = _either(*(_compared(a, ast.Eq(), each) for each in b.elts))
        return found if isinstance(op, ast.In) else _not(found)
    turned = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is, ast.NotIn: ast.In, ast.Gt: ast.LtE}
    if type(op) in turned:
        return _not(_compared(a, turned[type(op)](), b))
    if isinstance(op, ast.Lt):
        return _not(_compared(b, ast.LtE(), a))
    if isinstance(op, ast.GtE):
        a, op, b = b, ast.LtE(), a
    first, second = ast.unparse(a), ast.unparse(b)
    if isinstance(op, (ast.Eq, ast.Is)):
        first, second = sorted((first, second))
    else:
        first, second = ast.unparse(_Sums().visit(ast.Compare(a, [op], [b]))), ""
    return ("is", f"{first} == {second}" if second else first)


def _both(*parts: _Said) -> _Said:
    return _joined("and", parts)


def _either(*parts: _Said) -> _Said:
    return _joined("or", parts)


def _joined(word: str, parts: tuple[_Said, ...]) -> _Said:
    those: set[_Said] = set()
    for part in parts:
        those |= part[1] if part[0] == word else {part}
    ends = _NO if word == "and" else _YES
    if ends in those or any(_not(part) in those for part in those):
        return ends
    return next(iter(those)) if len(those) == 1 else (word, frozenset(those))


def _not(said: _Said) -> _Said:
    word, what = said
    if word in ("is", "not"):
        return ("not" if word == "is" else "is", what)
    return ("or" if word == "and" else "and", frozenset(map(_not, what)))


def _written(said: _Said) -> str:
    word, what = said
    if word in ("is", "not"):
        return f"{word} {what}"
    if word == "and":  # of values that are all equal each is compared with the first, or with the constant
        pairs = [part[1].split(" == ") for part in what if part[0] == "is" and part[1].count(" == ") == 1]
        groups: list[set[str]] = []
        for pair in pairs:
            near = [g for g in groups if g & set(pair)]
            groups = [g for g in groups if g not in near] + [set(pair).union(*near)]
        rest = [_written(part) for part in what if part[0] != "is" or part[1].count(" == ") != 1]
        return f"and({'; '.join(sorted([*rest, *(' = '.join(sorted(g)) for g in groups)]))})"
    return f"or({'; '.join(sorted(map(_written, what)))})"
