"""Our solution of an exercise with one thing changed: where a wrong answer gives exactly what such a variation gives,
on every case, that one thing is what it does differently. A person writes the known mistakes of an exercise; these are
the ones that a person need not write.

Those of a Python exercise are made and run at the check. Those of a C++ one (kernel_changes.py) take too long for that:
data/kernel_variations.csv has a mark of what each of them gives (scripts/kernel_variations.py), and only those with the
marks of the answer are built and compared.
"""

from __future__ import annotations

import ast
import contextlib
import csv
import functools
import hashlib
import re
import time
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from labkit import messages, paths
from labkit.exercises import kernel_changes
from labkit.exercises.alike import bears, common, nearest, whole, words
from labkit.exercises.cases import Case, tolerance_of
from labkit.exercises.changes import (
    LONGEST,
    SHORT,
    apart,
    around_number,
    block_of,
    by_chance,
    changes,
    copied,
    is_module,
    mends,
    one_of_pair,
)
from labkit.exercises.diagnose import mismatches, tensor_to_numpy
from labkit.exercises.kernel_text import differences, stands
from labkit.exercises.spec import Spec
from labkit.exercises.stub import CELL, Region, Template, normalise

SECONDS = 2.0  # of processor time for all variations of a check
_LOOPS = (ast.For, ast.While)
_MOST = 8  # names that are exchanged for each other


def sentence(ours: Template, source: str, agrees: Callable[[str], bool], coarse: bool) -> str:
    """What is changed in the variation whose text `agrees` with the answer; "" for none, and where several agree
    that are equally near to the answer's text. source: the learner's text, which must not speak against it. coarse:
    the results say little (yes or no, an exception), so that only a single sentence counts.
    """
    tree, theirs, right = ast.parse("\n".join(ours.lines)), _parsed(source), ours.solution()
    same, mine = ast.unparse(tree), whole(ours, source)
    like_ours, those, unlikely = common(mine, same), [], set()
    for key, names, text, _ in _texts(tree, ours):
        near = common(mine, text)
        unlike = coarse and key == "instead" and near <= like_ours
        if text == same or unlike or not _plausible(key, names, source, coarse, theirs, right):
            continue
        those.append((near, messages.text(f"variation.{key}", **names), text))
        if key == "exchanged" and _in_order(names, source) == _in_order(names, right):
            unlikely.add(those[-1][1])
    end, found = time.process_time() + SECONDS, {}  # sentence -> the varied text
    for _, say, text in sorted(those, key=lambda one: -one[0]):  # what reads like the answer first: time is limited
        if time.process_time() > end:
            break
        if say not in found and agrees(text):
            found[say] = text
            if coarse and len(found) > 1:
                return ""
    if len(found) > 1:
        found = {say: found[say] for say in found if say not in unlikely}
    return nearest(ours, source, found) if len(found) > 1 else next(iter(found), "")


def _in_order(names: dict[str, str], text: str) -> list[str]:
    return re.findall(rf"\b(?:{names['a']}|{names['b']})\b", text)


# ---- C++

SAMPLES, MOST_BUILT = 64, 6


def digest(ours: Template, cases: list[Case]) -> str:
    """Of all that the marks of an exercise depend on here: its solution, the sizes of its cases (their numbers may
    differ between hosts), and the variations."""
    whole = hashlib.sha256("\n".join(ours.lines).encode())
    whole.update(repr([(case.name, case.blocks, [_size(arg) for arg in case.args]) for case in cases]).encode())
    for one in kernel_changes.variations(ours):
        whole.update(one.cell.encode())
    return whole.hexdigest()[:16]


def _size(arg: Any) -> Any:
    if isinstance(arg, (list, tuple)):
        return [_size(one) for one in arg]
    arg = getattr(arg, "tensor", arg)
    return (
        [list(arg.shape) if not isinstance(arg.shape, int) else arg.shape, str(arg.dtype)]
        if hasattr(arg, "shape")
        else arg
    )


def mark(case: Case, result: Any) -> str:
    """Four letters of what a case gave, "=" where it is right. It is of which elements are wrong and of three digits of
    some of them, so that it is the same on every host. result: arrays, or something that has a `name`."""
    if hasattr(result, "name"):
        return hashlib.sha256(repr(result.name).encode()).hexdigest()[:4]
    if not (isinstance(result, list) and all(isinstance(a, np.ndarray) for a in result)):
        right = result == case.expected
        return "=" if right else hashlib.sha256(repr(result).encode()).hexdigest()[:4]
    wanted = case.expected if isinstance(case.expected, (tuple, list)) else (case.expected,)
    said, right = hashlib.sha256(), True
    for got, want in zip(result, wanted):
        array, dtype = tensor_to_numpy(want) if hasattr(want, "detach") else (np.asarray(want), str(want.dtype))
        if got.shape != array.shape:
            said.update(repr(got.shape).encode())
            right = False
            continue
        wrong = mismatches(got, array, *tolerance_of(dtype, case.tolerance))
        right &= not wrong.any()
        flat = got.reshape(-1).astype(np.float64)
        some = flat[np.arange(SAMPLES) * len(flat) // SAMPLES] if len(flat) else flat
        said.update(np.packbits(wrong.reshape(-1)).tobytes() + " ".join(f"{x + 0.0:.2e}" for x in some).encode())
    return "=" if right else said.hexdigest()[:4]


@functools.lru_cache(maxsize=1)
def _table() -> dict[str, tuple[str, list[tuple[int, list[str]]]]]:
    """Exercise -> (digest, [(number of a variation, marks of its cases)])"""
    file, out = paths.repo_root() / "data" / "kernel_variations.csv", {}
    if file.is_file():
        with file.open(encoding="utf-8", newline="") as rows:
            for row in csv.DictReader(rows):
                those = [one.partition(":") for one in row["marks"].split(";") if one]
                out[row["exercise"]] = row["digest"], [(int(k), marks.split()) for k, _, marks in those]
    return out


def kernel_sentence(
    spec: Spec,
    ours: Template,
    source: str,
    cases: list[Case],
    results: dict[int, Any],
    agrees: Callable[[str], bool],
    little: bool,
) -> tuple[str, bool]:
    """(as `sentence`, of a C++ exercise; does the answer's text have what the sentence quotes?)
    cases: all, in their order; agrees: is what this cell gives what `results` are? Where no marks are the answer's
    (another seed, another target), the variations nearest to its text are built, if it has what they have."""
    those = kernel_changes.variations(ours)
    kept, rows = _table().get(spec.id, ("", []))
    marks = {k: mark(case, results[id(case)]) for k, case in enumerate(cases) if id(case) in results}
    alike = [
        those[n]
        for n, theirs in (rows if rows and kept == digest(ours, cases) else ())
        if all(k < len(theirs) and theirs[k] == m for k, m in marks.items())
    ]
    mine = words(ours, source)

    def near(one: kernel_changes.Variation) -> float:
        return SequenceMatcher(None, mine, words(ours, one.cell), autojunk=False).ratio()

    by_text = not alike
    borne = [
        one for one in alike or those if not _contradicts(one, ours, source) and (not by_text or _has(one, source))
    ]
    borne = sorted(borne, key=near, reverse=True)[:MOST_BUILT]
    if little or by_text:
        borne = [one for one in borne if bears(ours, source, one.cell) and _quoted(one, source)]
    found: dict[str, kernel_changes.Variation] = {}
    for one in borne:
        say = messages.text(f"variation.{one.key}", **one.names)
        if say not in found and agrees(one.cell):
            found[say] = one
    if len(found) > 1:
        marked = {say: one for say, one in found.items() if bears(ours, source, one.cell)}
        found = marked or found
    if len(found) > 1:
        ratios = {say: near(one) for say, one in found.items()}
        found = {say: one for say, one in found.items() if ratios[say] == max(ratios.values())}
    if len(found) != 1:
        return "", False
    say, one = next(iter(found.items()))
    return say, _quoted(one, source)


def _quoted(one: kernel_changes.Variation, source: str) -> bool:
    """Does the answer hold what a sentence would quote of the changed text?"""
    return "code" in one.told or _count(one.names["code"], source) > 0


def difference_sentence(
    ours: Template,
    source: str,
    is_right: Callable[[str], bool],
    agrees: Callable[[str], bool] | None,
    most: int = 2 * MOST_BUILT,
    alike: float = 0.0,
) -> str:
    """The one difference between the answer's text and ours without which the answer is right, else the one that gives
    our solution what the answer gave. most: differences; of a text with more of them nothing is tried. alike: how much
    two long texts must have in common: ours in place of something else altogether is always right and says nothing."""
    try:
        those = [d for d in differences(ours, source) if max(len(d.new), len(d.old)) <= LONGEST]
    except (IndexError, KeyError):  # brackets that do not match
        return ""
    those = [d for d in those if d.at_one_place(alike)] if alike else those
    if len(those) > most:
        return ""
    if one := next((d for d in those if is_right(d.back)), None):
        return put_right(one.old, one.new, one.code) if one.new else _elsewhere(one.old, one.back, source, ours.comment)
    one = next((d for d in those[:MOST_BUILT] if agrees(d.there)), None) if agrees else None
    return put_right(one.old, one.new, one.code, "same") if one else ""


def _elsewhere(old: str, back: str, source: str, comment: str) -> str:
    """Of a statement that the answer lacks where ours has it: that it is missing, or stands at another place."""
    python = comment == "#"
    same = next((k for k, (a, b) in enumerate(zip(back, source)) if a != b), len(source))
    before = re.findall(r"[^\n]+\n" if python else r"[^;{}]+[;{]", back[:same])
    stands = {line.strip() for line in source.split("\n")} if python else {old} if _count(old, source) else set()
    if old not in stands or not python and not (before and old.endswith(";")):
        return put_right(old, "", "")
    code = " ".join(before[-1].split()) if before else ""
    return messages.text("repair.right-elsewhere" if code else "repair.right-first", old=old, code=code)


def put_right(old: str, new: str, code: str, how: str = "right") -> str:
    """old: what belongs there; new: what the answer has. "" where there is nothing to show of either."""
    kind = "instead" if old and new else "missing" if old else "too-much"
    bare = "-bare" if kind == "instead" and (code == new or new not in code) else ""
    return messages.text(f"repair.{how}-{kind}{bare}", old=old, new=new, code=code) if (old + new).strip() else ""


def _count(part: str, text: str) -> int:
    return _plain(text).count(_plain(part)) if part else 0


def _plain(text: str) -> str:
    return re.sub(r"\W", lambda m: f" {m[0]} " if m[0].strip() else " ", normalise(text, "//")).replace("  ", " ")


def _has(one: kernel_changes.Variation, source: str) -> bool:
    """Does the answer's text hold what was put in?"""
    new = one.told.get("new", "")
    return not new or _count(new, source) > 0


def _contradicts(one: kernel_changes.Variation, ours: Template, source: str) -> bool:
    """Does the answer's text have, as often as ours, what this variation has not?"""
    right = ours.solution()
    names = one.told
    if one.key == "no-code":
        return _count(names["code"], source) >= _count(names["code"], right)
    if one.key in ("instead-code", "everywhere"):
        kept = _count(names["old"], source) >= _count(names["old"], right)
        return kept and _count(names["new"], source) <= _count(names["new"], right)
    if one.key == "left-out-code":
        return _count(names["part"], source) >= _count(names["part"], right) > 0
    return False


# ---- Python


def _parsed(source: str) -> ast.Module:
    with contextlib.suppress(SyntaxError):
        return ast.parse(source)
    return ast.Module([], [])


def _plausible(key: str, names: dict[str, str], source: str, coarse: bool, theirs: ast.Module, right: str) -> bool:
    """May the learner's text, on the face of it, have this mistake? right: the text of our regions."""

    def fewer(pattern: str) -> bool:
        mine = len(re.findall(pattern, source))
        return not mine or mine < len(re.findall(pattern, right))

    instead = key == "instead" and (coarse or not names["new"].isidentifier())
    if key in ("edge", "turned", "number", "number-in") or instead:
        return stands(names["new"], source)
    if key == "other-of-pair":
        return (names["code"], 1 - int(names["place"])) in map(one_of_pair, ast.walk(theirs))
    if key == "words":
        return all(re.search(f"[\"']{re.escape(word)}[\"']", source) for word in names.values())
    if key in ("left-out", "condition", "case"):
        parts = [rf"\b{w}\b" for w in re.findall(r"[A-Za-z_]\w*", names["part"])]  # all of it may stand elsewhere
        return fewer(re.escape(names["part"])) and any(map(fewer, parts or [re.escape(names["part"])]))
    if key == "unchanged":
        return not re.search(rf"\b{re.escape(names['name'])}\s*[-+*/]?=[^=]", source)
    if key in ("without-call", "no-statement"):
        return fewer(rf"\b{names['name']}\(")
    if key in ("rounds-down", "not-squared"):
        return fewer(r"-\s*\(\s*-|ceil|cdiv" if key == "rounds-down" else r"\*\* ?2|square|pow\(")
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
    if key == "its-value":
        return fewer(r"\bkey\s*=")
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
            if key == "number" and (code := around_number(nodes, nodes[k])):
                key, names = "number-in", {**names, "code": code}
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
            for at, loop in enumerate(block_of(nodes[k], name)):
                if not isinstance(loop, _LOOPS) or id(loop) not in inside:
                    continue
                for number, one in enumerate(loop.body):
                    if len(loop.body) > 1 and isinstance(one, (ast.Expr, ast.Assign, ast.AugAssign)):
                        for key, step in ("behind-loop", 1), ("before-loop", 0):
                            other = copied(tree)
                            block = block_of(list(ast.walk(other))[k], name)
                            block.insert(at + step, block[at].body.pop(number))
                            yield key, {"code": ast.unparse(one)}, ast.unparse(other), one.lineno
                behind = block_of(nodes[k], name)[at + 1 : at + 2]
                if behind and isinstance(behind[0], (ast.Expr, ast.Assign, ast.AugAssign)):
                    other = copied(tree)
                    block = block_of(list(ast.walk(other))[k], name)
                    block[at].body.append(block.pop(at + 1))
                    yield "into-loop", {"code": ast.unparse(behind[0])}, ast.unparse(other), behind[0].lineno


def _names(tree, nodes, places, given: str) -> Iterator[tuple[str, dict[str, str], str, int]]:
    """Two names that the learner has seen exchanged everywhere; then one in the place of another at one spot."""
    loads = [k for k in places if isinstance(nodes[k], ast.Name) and isinstance(nodes[k].ctx, ast.Load)]
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)} | {id(n.value) for n in nodes if is_module(n)}
    loads = [k for k in loads if id(nodes[k]) not in called and re.search(rf"\b{nodes[k].id}\b", given)]
    names = list(dict.fromkeys(nodes[k].id for k in loads))[:_MOST]
    for a, b in ((a, b) for i, a in enumerate(names) for b in names[i + 1 :]):
        other = copied(tree)
        those = list(ast.walk(other))
        for k in loads:
            those[k].id = {a: b, b: a}.get(those[k].id, those[k].id)
        first = next(nodes[k].lineno for k in loads if nodes[k].id in (a, b))
        yield "exchanged", {"a": a, "b": b}, ast.unparse(other), first
    for k in loads:
        for new in names:
            if new != nodes[k].id:
                other = copied(tree)
                those = list(ast.walk(other))
                those[k].id = new
                around = next((n for n in those if those[k] in ast.iter_child_nodes(n)), those[k])
                count = sum(nodes[j].id == new for j in loads)
                told = {"a": new, "old": nodes[k].id, "count": str(count), "within": ast.unparse(around)}
                yield "other-name", told, ast.unparse(other), nodes[k].lineno


def _changed(tree: ast.Module, spots: list[tuple[int, int]], given: str) -> str:
    other = copied(tree)
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
        other = copied(tree)
        for k, n in enumerate(ast.walk(other)):
            if k in set(places) and isinstance(n, ast.Constant) and n.value in (a, b):
                n.value = b if n.value == a else a
        yield (
            "words",
            {"a": a, "b": b},
            ast.unparse(other),
            next(nodes[k].lineno for k in places if getattr(nodes[k], "value", None) == a),
        )


# ---- the answer's own text with one thing changed


def repaired(
    ours: Template, source: str, is_right: Callable[[str], bool], coarse: bool, only_usual: bool = False
) -> str:
    """The single change that makes a Python answer right, the shortest of several, "" for none. is_right: is the whole
    file with it? coarse: the results say so little that it must be the only one. only_usual: of those with a key."""
    joined = ours.join(source, "exercise")
    try:
        tree = ast.parse(joined.text)
    except SyntaxError:
        return ""
    mine = [n for n, (kind, _) in enumerate(joined.origin, 1) if kind == CELL]
    regions = tuple(Region({}, (), (), "", n, n) for n in mine)
    theirs = Template(tuple(joined.text.split("\n")), regions, ours.comment)
    end, before, found = time.process_time() + SECONDS, ast.unparse(tree), set()
    for key, text in _mended(tree, theirs, only_usual):
        if time.process_time() > end:
            break
        if text != before and is_right(text):
            new, old, code = apart(before, text)
            if by_chance(old, new, "\n".join(ours.lines), source):
                continue
            found.add(messages.text(f"variation.{key}") if key else put_right(old, new, code))
            if len(found) > 1 if coarse else len(new) + len(old) <= SHORT:
                break
    if coarse:
        return found.pop() if len(found) == 1 else ""
    return min(found, key=len, default="")  # a change at many places says less than one at one


def _mended(tree: ast.Module, theirs: Template, only_usual: bool = False) -> Iterator[tuple[str, str]]:
    """(message's key where there is one, the changed file). only_usual: of those with a key."""
    for _, _, text, _ in () if only_usual else _texts(tree, theirs):
        yield "", text
    inside = {r.first for r in theirs.regions}
    whole = {
        id(part) for n in ast.walk(tree) if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.FloorDiv, ast.Mod))
        for side in (n.left, n.right) for part in ast.walk(side)
    }  # fmt: skip
    for k, node in enumerate(ast.walk(tree)):
        if getattr(node, "lineno", 0) in inside:
            for key, make in mends(node, whole=id(node) in whole):
                if only_usual and not key:
                    continue
                other = copied(tree)
                there = list(ast.walk(other))[k]
                _Put(there, make(there)).visit(other)
                with contextlib.suppress(ValueError):  # before Python 3.12 an f-string cannot hold every expression
                    yield key, ast.unparse(ast.fix_missing_locations(other))
