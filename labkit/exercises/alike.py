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
    if mine == theirs:
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


def _of_tree(ours: Template, source: str) -> list[str]:
    joined = ours.join(source, "exercise")
    mine = {n for n, (kind, _) in enumerate(joined.origin, 1) if kind == CELL}
    tree = plain(ast.parse(joined.text), mine)
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
