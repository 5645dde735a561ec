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
from difflib import SequenceMatcher
from typing import Any

from labkit import messages
from labkit.exercises.changes import changes
from labkit.exercises.stub import Template

SECONDS = 3.0  # of processor time for all variations of a check
_LOOPS = (ast.For, ast.While)
_MOST = 8  # names that are exchanged for each other


def sentence(ours: Template, source: str, agrees: Callable[[str], bool], coarse: bool) -> str:
    """What is changed in the variation whose text `agrees` with the answer; "" for none, and where several agree
    that are equally near to the answer's text. source: the learner's text, which must not speak
    against it. coarse: the results say little (yes or no, an exception), so that only a single sentence counts.
    """
    tree, theirs = ast.parse("\n".join(ours.lines)), _parsed(source)
    same = ast.unparse(tree)
    end, right = time.process_time() + SECONDS, ours.solution()
    found: dict[str, str] = {}  # sentence -> the varied text
    for key, names, text, _ in _texts(tree, ours):
        if time.process_time() > end:
            break
        say = messages.text(f"variation.{key}", **names)
        if say in found or text == same or not _plausible(key, names, source, coarse, theirs, right):
            continue
        if agrees(text):
            found[say] = text
            if coarse and len(found) > 1:
                return ""
    return _nearest(ours, source, found) if len(found) > 1 else next(iter(found), "")


def _nearest(ours: Template, source: str, texts: dict[str, str]) -> str:
    """The sentence of the variation whose text is nearest to the learner's, "" where two are equally near."""
    try:
        mine = ast.unparse(ast.parse(ours.join(source, "exercise").text))
    except SyntaxError:
        return ""
    near = {say: SequenceMatcher(None, mine, text, autojunk=False).ratio() for say, text in texts.items()}
    best = [say for say in near if near[say] == max(near.values())]
    return best[0] if len(best) == 1 else ""


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.Module([], [])


def _plausible(key: str, names: dict[str, str], source: str, coarse: bool, theirs: ast.Module, right: str) -> bool:
    """May the learner's text, on the face of it, have this mistake? right: the text of our regions."""

    def fewer(pattern: str) -> bool:
        mine = len(re.findall(pattern, source))
        return not mine or mine < len(re.findall(pattern, right))

    if key in ("edge", "turned", "number") or key == "instead" and (coarse or not names["new"].isidentifier()):
        return names["new"] in source
    if key == "words":
        return all(re.search(f"[\"']{re.escape(word)}[\"']", source) for word in names.values())
    if key in ("left-out", "condition", "case"):
        return fewer(re.escape(names["part"]))
    if key == "unchanged":
        return not re.search(rf"\b{re.escape(names['name'])}\s*[-+*/]?=[^=]", source)
    if key in ("without-call", "no-statement"):
        return fewer(rf"\b{re.escape(names['name'])}\(")
    if key == "not-squared":
        return fewer(r"\*\* ?2|square|pow\(")
    if key == "no-factor":
        return fewer(rf"(?<![\w.]){re.escape(names['number'])}(?![\w.])")
    if key == "no-keyword":
        return fewer(rf"\b{names['word']}\s*=") and f"{names['name']}(" in source
    if key == "no-argument":
        return any(_name(n) == names["name"] and not n.args and not n.keywords for n in _calls(theirs))
    if key in ("behind-loop", "before-loop", "into-loop"):
        return _stands(theirs, names["code"]) == {key}
    if key == "exchanged":
        return all(re.search(rf"\b{names[k]}\b", source) for k in "ab")
    if key == "other-name":  # more often than ours
        more = len(re.findall(rf"\b{names['a']}\b", source)) > int(names["count"])
        return more and any(ast.unparse(n) == names["within"] for n in ast.walk(theirs) if isinstance(n, ast.expr))
    if key == "no-transpose":
        return fewer(r"\.T\b|\.t\(|transpose|permute")
    if key == "goes-on":
        return "break" not in source
    word = {"turned-difference": "-", "turned-quotient": "/", "added": "+", "arguments": names.get("name")}.get(key)
    return word is None or word in source


def _calls(tree: ast.AST) -> list[ast.Call]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.Call)]


def _name(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _stands(tree: ast.Module, code: str) -> set[str]:
    """Where this statement stands: inside of a loop, behind one, or in front of one."""
    loops = [n for n in ast.walk(tree) if isinstance(n, _LOOPS)]
    out = set()
    for one in (n for n in ast.walk(tree) if isinstance(n, ast.stmt) and ast.unparse(n) == code):
        if any(loop.lineno < one.lineno <= loop.end_lineno for loop in loops):
            out.add("into-loop")
        else:
            out |= {"behind-loop" if one.lineno > loop.lineno else "before-loop" for loop in loops}
    return out


def _texts(tree: ast.Module, ours: Template) -> Iterator[tuple[str, dict[str, str], str, int]]:
    """(message's key, its names, the varied file, the line that is changed)"""
    inside = {n for r in ours.regions for n in range(r.first, r.last + 1)}
    given = "\n".join(ours.given())
    nodes = list(ast.walk(tree))
    places = [k for k, n in enumerate(nodes) if getattr(n, "lineno", 0) in inside]
    yield from _moved(tree, nodes, places)
    groups: dict[tuple, list] = {}  # the same change at several places
    for k in places:
        for number, (key, names, _) in enumerate(changes(nodes[k], given)):
            group = groups.setdefault((type(nodes[k]), number, key, names.get("new")), [names])
            group.append((k, number))
            yield key, names, _changed(tree, [(k, number)], given), nodes[k].lineno
    for (_, _, key, _), (names, *spots) in groups.items():
        if len(spots) > 1:
            yield key, names, _changed(tree, spots, given), nodes[spots[0][0]].lineno
    yield from _exchanged_words(tree, nodes, places)
    yield from _names(tree, nodes, places, given)


def _moved(tree: ast.Module, nodes: list[ast.AST], places: list[int]) -> Iterator[tuple[str, dict[str, str], str, int]]:
    """Statements that leave their loop, or come into the one before them."""
    inside = {id(nodes[k]) for k in places}
    for k in range(len(nodes)):
        for name in ("body", "orelse", "finalbody"):
            for at, loop in enumerate(_block(nodes[k], name)):
                if not isinstance(loop, _LOOPS) or id(loop) not in inside:
                    continue
                for number, one in enumerate(loop.body):
                    if len(loop.body) > 1 and isinstance(one, (ast.Expr, ast.Assign, ast.AugAssign)):
                        for key, step in ("behind-loop", 1), ("before-loop", 0):
                            other = copy.deepcopy(tree)
                            block = _block(list(ast.walk(other))[k], name)
                            block.insert(at + step, block[at].body.pop(number))
                            yield key, {"code": ast.unparse(one)}, ast.unparse(other), one.lineno
                behind = _block(nodes[k], name)[at + 1 : at + 2]
                if behind and isinstance(behind[0], (ast.Expr, ast.Assign, ast.AugAssign)):
                    other = copy.deepcopy(tree)
                    block = _block(list(ast.walk(other))[k], name)
                    block[at].body.append(block.pop(at + 1))
                    yield "into-loop", {"code": ast.unparse(behind[0])}, ast.unparse(other), behind[0].lineno


def _block(node: ast.AST, name: str) -> list:
    block = getattr(node, name, None)
    return block if isinstance(block, list) else []


def _names(tree, nodes, places, given: str) -> Iterator[tuple[str, dict[str, str], str, int]]:
    """Two names that the learner has seen exchanged everywhere; then one in the place of another at one spot."""
    loads = [k for k in places if isinstance(nodes[k], ast.Name) and isinstance(nodes[k].ctx, ast.Load)]
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)} | {id(n.value) for n in nodes if _is_module(n)}
    loads = [k for k in loads if id(nodes[k]) not in called and re.search(rf"\b{nodes[k].id}\b", given)]
    names = list(dict.fromkeys(nodes[k].id for k in loads))[:_MOST]
    for a, b in ((a, b) for i, a in enumerate(names) for b in names[i + 1 :]):
        other = copy.deepcopy(tree)
        those = list(ast.walk(other))
        for k in loads:
            those[k].id = {a: b, b: a}.get(those[k].id, those[k].id)
        first = next(nodes[k].lineno for k in loads if nodes[k].id in (a, b))
        yield "exchanged", {"a": a, "b": b}, ast.unparse(other), first
    for k in loads:
        for new in names:
            if new != nodes[k].id:
                other = copy.deepcopy(tree)
                those = list(ast.walk(other))
                those[k].id = new
                around = next((n for n in those if those[k] in ast.iter_child_nodes(n)), those[k])
                count = sum(nodes[j].id == new for j in loads)
                told = {"a": new, "old": nodes[k].id, "count": str(count), "within": ast.unparse(around)}
                yield "other-name", told, ast.unparse(other), nodes[k].lineno


def _is_module(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in ("torch", "math", "np", "nn", "F")


def _changed(tree: ast.Module, spots: list[tuple[int, int]], given: str) -> str:
    other = copy.deepcopy(tree)
    nodes = list(ast.walk(other))
    makers = [(k, list(changes(nodes[k], given))[number][2]) for k, number in spots]
    for k, make in reversed(makers):  # from the inside out
        _Put(nodes[k], make(nodes[k])).visit(other)
    return ast.unparse(ast.fix_missing_locations(other))


class _Put(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


def _exchanged_words(tree, nodes, places) -> Iterator[tuple[str, dict[str, str], str, int]]:
    words = sorted({n.value for k in places if isinstance(n := nodes[k], ast.Constant) and isinstance(n.value, str)})
    for a, b in ((a, b) for i, a in enumerate(words[:6]) for b in words[i + 1 : 6]):
        other = copy.deepcopy(tree)
        for k, n in enumerate(ast.walk(other)):
            if k in set(places) and isinstance(n, ast.Constant) and n.value in (a, b):
                n.value = b if n.value == a else a
        yield (
            "words",
            {"a": a, "b": b},
            ast.unparse(other),
            next(nodes[k].lineno for k in places if getattr(nodes[k], "value", None) == a),
        )
