"""Our solution of a C++ exercise with one thing changed: another name, a number one off, an operand or a statement left
out, two arguments exchanged, another event or rounding. Text only: nothing here builds or runs anything.

What each of them gives was run once, by scripts/kernel_variations.py; variations.py looks a wrong answer's results up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from labkit.exercises.kernel_text import Code, around
from labkit.exercises.stub import Template, normalise

MOST = 160  # variations of one exercise
_INSTEAD = {
    "+": "-", "-": "+", "*": "/", "/": "*%", "%": "/", "&&": ["||"], "||": ["&&"], "<": ["<=", ">"], "<=": ["<"],
    ">": [">=", "<"], ">=": [">"], "==": ["!="], "!=": ["=="], "++": ["--"],
}  # fmt: skip
_WORDS = {
    "Max": ["Min"], "Min": ["Max"], "Add": ["Sub"], "Sub": ["Add"], "Mul": ["Div", "Add"], "Div": ["Mul"],
    "Adds": ["Muls"], "Muls": ["Adds"], "Exp": ["Ln"], "Ln": ["Exp"], "Sqrt": ["Abs"], "Maxs": ["Mins"],
    "Mins": ["Maxs"], "ReduceMax": ["ReduceSum", "ReduceMin"], "ReduceSum": ["ReduceMax"],
    "WholeReduceSum": ["WholeReduceMax"], "WholeReduceMax": ["WholeReduceSum", "WholeReduceMin"],
    "GetBlockIdx": ["GetBlockNum"], "GetBlockNum": ["GetBlockIdx"], "true": ["false"], "false": ["true"],
    "half": ["float"], "float": ["half"],
}  # fmt: skip
_CASTS = ["CAST_NONE", "CAST_RINT", "CAST_FLOOR", "CAST_CEIL", "CAST_ROUND", "CAST_TRUNC"]
_PIPES = ["PIPE_MTE1", "PIPE_MTE2", "PIPE_MTE3", "PIPE_V", "PIPE_M", "PIPE_FIX", "PIPE_S"]
_SCALARS = "uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t int size_t float half bool auto".split()
_TYPES = {"LocalTensor": "local", "GlobalTensor": "global", "TQue": "queue", "TBuf": "queue"} | {
    s: "floating" if s in ("float", "half") else "whole" for s in _SCALARS
}


@dataclass(frozen=True)
class Variation:
    """key, told: of the message; cell: the text of the exercise cell; body, place: what is changed."""

    key: str
    told: dict[str, str]
    cell: str
    body: str
    place: tuple[int, int]

    @property
    def names(self) -> dict[str, str]:
        return {"code": around(self.body, *self.place)} | self.told


Edit = tuple[int, int, str]  # from, to, new text
Found = tuple[str, dict[str, str], list[Edit]]


def variations(ours: Template) -> list[Variation]:
    """All of them, in an order that depends on our solution's text alone; two with the same text are one."""
    bodies, out, seen = ours.bodies(), [], {normalise(ours.solution(), "//")}
    codes = [Code(body) for body in bodies]
    kinds = [_kinds(ours, r.first) for r in ours.regions]
    makers = [_statements, _operators, _numbers, _words, _calls, _names, _everywhere, _moves, _whole, _into, _sizes]
    rounds = [[list(make(code, kind)) for code, kind in zip(codes, kinds)] for make in makers]
    lists = [[(r, found) for r, those in enumerate(one) for found in those] for one in rounds]
    for r, (key, names, edits) in _in_turn(lists):
        text = bodies[r]
        for a, b, new in sorted(edits, reverse=True):
            text = text[:a] + new + text[b:]
        cell = ours.cell([*bodies[:r], text, *bodies[r + 1 :]])
        plain = normalise(cell, "//")
        if plain not in seen:
            seen.add(plain)
            first = min(edits)
            out.append(Variation(key, names, cell, text, (first[0], len(first[2]))))
        if len(out) == MOST:
            break
    return out


def _in_turn(lists: list[list]) -> Iterator:
    """All of each where there is room; else the first ones of each kind, in turn."""
    if sum(map(len, lists)) <= MOST:
        for one in lists:
            yield from one
        return
    spread = [_spread(one) for one in lists]
    for k in range(max(map(len, spread), default=0)):
        yield from (one[k] for one in spread if k < len(one))


def _spread(one: list) -> list:
    """In an order whose beginnings lie all over the list: every 7th, then those between."""
    return [one[k] for first in range(7) for k in range(first, len(one), 7)]


# ---- the changes


def _statements(code: Code, kinds) -> Iterator[Found]:
    """Left out: a statement, the condition of an `if`, all that stands behind one."""
    for first, end, _ in code.statements():
        head = code.word[first]
        if _declares(code, first) or head in ("return", "using", "struct", "template", "class"):
            continue
        yield "no-code", {"code": code.between(first, end - 1)}, [(code.start[first], code.end(end - 1), "")]
    for k, word in enumerate(code.word):
        if word == "if" and code.word[k + 1] == "(" and k + 1 in code.pair:
            inside = (code.end(k + 1), code.start[code.pair[k + 1]])
            text = code.between(k + 2, code.pair[k + 1])
            yield "always", {"code": text}, [(*inside, "true")]
            yield "never", {"code": text}, [(*inside, "false")]
        if word == "?":
            begin = _begin_of_choice(code, k)
            colon = next((j for j in range(k, len(code.word)) if code.word[j] == ":"), 0)
            if begin is None or not colon:
                continue
            end = _end_of_choice(code, colon)
            for a, b in ((k + 1, colon), (colon + 1, end)):
                new = code.between(a, b)
                old = code.between(begin, end)
                yield "instead-code", {"old": old, "new": new}, [(code.start[begin], code.end(end - 1), new)]


def _begin_of_choice(code: Code, k: int) -> int | None:
    at = k - 1
    while at >= 0 and code.word[at] not in ("=", ",", "(", ";", "return", "{", "["):
        at = code.pair[at] - 1 if code.word[at] in ")]" and at in code.pair else at - 1
    return at + 1 if at + 1 < k else None


def _end_of_choice(code: Code, colon: int) -> int:
    at = colon + 1
    while at < len(code.word) and code.word[at] not in (",", ")", ";", "}", "]"):
        at = code.pair[at] + 1 if code.word[at] in "([" and at in code.pair else at + 1
    return at


def _declares(code: Code, k: int) -> bool:
    """Does a type stand here?"""
    if code.word[k] in ("const", "constexpr", "static"):
        return True
    if not code.is_value(k) or k + 1 >= len(code.word):
        return False
    after = code.pair[k + 1] + 1 if code.word[k + 1] == "<" and k + 1 in code.pair else k + 1
    return after < len(code.word) and bool(re.match(r"[A-Za-z_]", code.word[after])) and code.word[k] != "return"


def _operators(code: Code, kinds) -> Iterator[Found]:
    for k, word in enumerate(code.word):
        if code.binary(k):
            a, b = code.left(k), code.right(k)
            left, right = code.between(a, k), code.between(k + 1, b)
            whole = (code.start[a], code.end(b - 1))
            yield "left-out-code", {"part": f"{word} {right}"}, [(code.end(k - 1), code.end(b - 1), "")]
            yield "left-out-code", {"part": f"{left} {word}"}, [(code.start[a], code.start[k + 1], "")]
            if word in "-/%":
                yield "exchanged-in", {"a": left, "b": right}, [(*whole, f"{right} {word} {left}")]
            for new in _INSTEAD[word]:
                yield "instead-code", {"old": word, "new": new}, [(code.start[k], code.end(k), new)]
        elif word == "-" and (not k or code.word[k - 1] in "(,=?:[" or code.word[k - 1] == "return"):
            yield "no-minus", {}, [(code.start[k], code.end(k), "")]
        elif word == "!" and code.word[k + 1 : k + 2] != ["="]:
            yield "left-out-code", {"part": "!"}, [(code.start[k], code.end(k), "")]


def _numbers(code: Code, kinds) -> Iterator[Found]:
    for k, word in enumerate(code.word):
        if not re.fullmatch(r"\d+|\d+\.\d*f?|0x[0-9a-fA-F]+", word):
            continue
        if re.fullmatch(r"\d+", word):
            n = int(word)
            new = [n + 1, n - 1, *([n * 2, n // 2] if n > 1 and n % 2 == 0 else []), *([0] if n > 1 else [])]
            texts = [str(v) for v in dict.fromkeys(new) if v >= 0 and v != n]
        elif word.startswith("0x"):
            texts = [hex(v) for v in (0, 1, 2) if v != int(word, 16)]
        else:
            texts = [v for v in ("0.0f", "1.0f") if float(v[:-1]) != float(word.rstrip("f") or 0)]
            if code.word[k - 1] != "-":
                texts.append(f"-{word}")
        for text in texts:
            yield "instead-code", {"old": word, "new": text}, [(code.start[k], code.end(k), text)]
    for k, word in enumerate(code.word):
        if word == "[" and k in code.pair and code.pair[k] > k + 1 and k and code.is_value(k - 1):
            inside = code.between(k + 1, code.pair[k])
            yield "left-out-code", {"part": f"[{inside}]"}, [(code.start[k], code.end(code.pair[k]), "")]
            for sign in "+-":
                end = code.start[code.pair[k]]
                yield "added-code", {"part": f"{sign} 1"}, [(end, end, f" {sign} 1")]


def _words(code: Code, kinds) -> Iterator[Found]:
    """Other rounding, events, pipes, types, instructions."""
    events = sorted({w for w in code.word if re.fullmatch(r"(MTE[123]|V|M|S|FIX)_(MTE[123]|V|M|S|FIX)", w)})
    pipes = [w for w in _PIPES if w in code.word] + [w for w in _PIPES if w not in code.word]
    for k, word in enumerate(code.word):
        others: Iterable[str] = _WORDS.get(word, ())
        if word in _CASTS:
            others = _CASTS
        elif word in events:
            a, _, b = word.rpartition("_")
            near = {"V": ("MTE2", "MTE3"), "M": ("MTE1", "FIX"), "MTE1": ("MTE2", "M")}
            more = [f"{x}_{b}" for x in near.get(a, ("V",))] + [f"{a}_{x}" for x in near.get(b, ("V",))]
            others = [f"{b}_{a}", *events, *(m for m in more if m.split("_")[0] != m.split("_")[1])]
        elif word in pipes:
            others = pipes[:5]
        elif word == "SetFlag":
            others = ["WaitFlag"]
        elif word == "WaitFlag":
            others = ["SetFlag"]
        for new in dict.fromkeys(others):
            if new != word:
                yield "instead-code", {"old": word, "new": new}, [(code.start[k], code.end(k), new)]


def _calls(code: Code, kinds) -> Iterator[Found]:
    """Two arguments of a call exchanged; one alone of two in a call that gives a value."""
    for k, word in enumerate(code.word):
        if word not in "({" or k not in code.pair or not k or not (code.is_value(k - 1) or code.word[k - 1] == ">"):
            continue
        if code.word[k - 1] in ("for", "if", "while", "else", "return", "do"):
            continue
        those = code.arguments(k)
        name = code.between(code.before(code.pair[k]) if word == "(" else k - 1, k)
        for i in range(len(those)):
            for j in range(i + 1, len(those)):
                if j - i > 1 and len(those) > 5:
                    continue
                (a, b), (c, d) = those[i], those[j]
                if a < b and c < d and code.between(a, b) != code.between(c, d):
                    x, y = code.between(a, b), code.between(c, d)
                    edits = [(code.start[a], code.end(b - 1), y), (code.start[c], code.end(d - 1), x)]
                    yield "exchanged-in", {"a": x, "b": y, "name": name}, edits
        if len(those) == 2 and word == "(" and k >= 2 and code.word[k - 2] not in ";{}":
            for a, b in those:
                begin = code.before(code.pair[k])
                old, new = code.between(begin, code.pair[k] + 1), code.between(a, b)
                yield "instead-code", {"old": old, "new": new}, [(code.start[begin], code.end(code.pair[k]), new)]


def _names(code: Code, kinds: dict[str, str]) -> Iterator[Found]:
    """A name in the place of another of its kind, those that stand near it first."""
    for k in _places(code, kinds):
        near = sorted(kinds, key=lambda n: min((abs(j - k) for j, w in enumerate(code.word) if w == n), default=999))
        others = [n for n in near if kinds[n] == kinds[code.word[k]] and n != code.word[k]]
        for new in others[:6]:
            yield "instead-code", {"old": code.word[k], "new": new}, [(code.start[k], code.end(k), new)]


def _places(code: Code, kinds: dict[str, str]) -> list[int]:
    """Where a name of a known kind is used and not declared, and is not a loop's own in its head."""
    out, steps = [], set()
    for k, word in enumerate(code.word):
        if word == "for" and k + 1 in code.pair:
            head = range(k + 2, code.pair[k + 1])
            own = next((code.word[j - 1] for j in head if code.word[j] == "="), "")
            steps |= {j for j in head if code.word[j] == own}
    for k, word in enumerate(code.word):
        if word in kinds and (k == 0 or code.word[k - 1] not in (".", "->", "::")):
            declared = k and (code.word[k - 1] in _TYPES or code.word[k - 1] == ">" and k - 1 in code.pair)
            if not declared and k not in steps:
                out.append(k)
    return out


def _everywhere(code: Code, kinds: dict[str, str]) -> Iterator[Found]:
    """The same change at all places of a region: a name, two names exchanged, a number, a statement left out."""
    places = _places(code, kinds)
    names = list(dict.fromkeys(code.word[k] for k in places))
    for a in names:
        mine = [k for k in places if code.word[k] == a]
        others = [n for n in kinds if n != a and kinds[n] == kinds[a]]
        for b in sorted(others, key=lambda n: n not in names)[:6]:
            if b in names and b > a:
                turned = {a: b, b: a}
                both = [k for k in places if code.word[k] in turned]
                edits = [(code.start[k], code.end(k), turned[code.word[k]]) for k in both]
                yield "exchanged-code", {"a": a, "b": b}, edits
            if len(mine) > 1:
                edits = [(code.start[k], code.end(k), b) for k in mine]
                yield "everywhere", {"old": a, "new": b}, edits
    for word in dict.fromkeys(code.word):
        same = [k for k, w in enumerate(code.word) if w == word]
        if len(same) < 2:
            continue
        others = _WORDS.get(word, []) + (_CASTS if word in _CASTS else [])
        if re.fullmatch(r"\d+", word):
            others = [str(int(word) + 1)] + ([str(int(word) - 1)] if int(word) else [])
        for new in (n for n in others if n != word):
            yield "everywhere", {"old": word, "new": new}, [(code.start[k], code.end(k), new) for k in same]
    texts: dict[str, list[tuple[int, int]]] = {}
    for first, end, _ in code.statements():
        if not _declares(code, first):
            texts.setdefault(code.between(first, end - 1), []).append((first, end))
    for text, those in texts.items():
        if len(those) > 1:
            yield "no-code", {"code": text}, [(code.start[a], code.end(b - 1), "") for a, b in those]


def _moves(code: Code, kinds) -> Iterator[Found]:
    """A statement behind the next one, in front of its loop or behind it."""
    those = [s for s in code.statements()]
    for (a, b, block), (c, d, other) in zip(those, those[1:]):
        if block == other and not _declares(code, a) and c == b:
            x, y = code.text[code.start[a] : code.end(b - 1)], code.text[code.start[c] : code.end(d - 1)]
            edits = [(code.start[a], code.end(b - 1), y), (code.start[c], code.end(d - 1), x)]
            yield "behind", {"a": code.between(a, b - 1), "b": code.between(c, d - 1)}, edits
    for first, end, block in those:
        if block < 0 or _declares(code, first):
            continue
        head = code.pair.get(block - 1)
        if head is None or code.word[block - 1] != ")" or not head or code.word[head - 1] not in ("for", "while", "if"):
            continue
        text, gone = code.text[code.start[first] : code.end(end - 1)], (code.start[first], code.end(end - 1), "")
        key = "loop" if code.word[head - 1] != "if" else "if"
        behind, begin = code.end(code.pair[block]), code.start[head - 1]
        names = {"code": code.between(first, end - 1)}
        yield f"behind-{key}", names, [gone, (behind, behind, "\n" + text)]
        yield f"before-{key}", names, [gone, (begin, begin, text + "\n")]


def _whole(code: Code, kinds: dict[str, str]) -> Iterator[Found]:
    """Another name for all that is assigned."""
    for first, end, _ in code.statements():
        at = next((k for k in range(first, end) if code.word[k] == "="), 0)
        if not at or code.word[first] == "for" or any(code.word[k] == "," for k in range(at, end)):
            continue
        kind = kinds.get(code.word[at - 1], "")
        old = code.between(at + 1, end - 1)
        for new in [n for n in kinds if kinds[n] == kind and n != code.word[at - 1]][:10] + ["0", "1"]:
            if kind in ("whole", "floating") and new != old:
                yield "instead-code", {"old": old, "new": new}, [(code.start[at + 1], code.end(end - 2), new)]


def _into(code: Code, kinds) -> Iterator[Found]:
    """A statement next to a block goes into it."""
    for first, end, _ in code.statements():
        if _declares(code, first):
            continue
        text, gone = code.text[code.start[first] : code.end(end - 1)], (code.start[first], code.end(end - 1), "")
        names = {"code": code.between(first, end - 1)}
        if first and code.word[first - 1] == "}" and (head := _head(code, code.pair.get(first - 1, 0))):
            at = code.start[first - 1]
            yield f"into-{head}", names, [gone, (at, at, text + "\n")]
        block = next((k for k in range(end, len(code.word)) if code.word[k] == "{"), 0)
        if end < len(code.word) and code.word[end] in ("for", "if") and block and _head(code, block):
            at = code.end(block)
            yield f"into-{_head(code, block)}", names, [gone, (at, at, "\n" + text)]


def _head(code: Code, block: int) -> str:
    """ "loop" or "if", where this `{` belongs to one."""
    head = code.pair.get(block - 1) if block and code.word[block - 1] == ")" else None
    word = code.word[head - 1] if head else ""
    return "loop" if word in ("for", "while") else "if" if word == "if" else ""


def _sizes(code: Code, kinds: dict[str, str]) -> Iterator[Found]:
    """Half of a number, one more or less, where a name alone is an argument, a bound or what is assigned."""
    for k in _places(code, kinds):
        before, after = code.word[k - 1] if k else "", code.word[k + 1] if k + 1 < len(code.word) else ""
        if kinds[code.word[k]] == "whole" and before in ("(", ",", "=", "<", "<=") and after in (",", ")", ";"):
            for more in ("/ 2", "- 1", "+ 1"):
                new = f"{code.word[k]} {more}"
                yield "instead-code", {"old": code.word[k], "new": new}, [(code.start[k], code.end(k), new)]


def _kinds(ours: Template, line: int) -> dict[str, str]:
    """Name -> kind, of all that is declared in the function (or class) around a line, and of global constants.
    A region that is a whole kernel has its own declarations as well."""
    lines = list(ours.lines)
    ends = [0, *(n for n, text in enumerate(lines, 1) if text.startswith("}")), len(lines)]
    begin = max(n for n in ends if n < line)
    last = next(r.last for r in ours.regions if r.first == line)
    end = min(n for n in ends if n >= last)
    globals_ = [text for n, text in enumerate(lines, 1) if text.startswith("constexpr") and not begin < n <= end]
    code = Code("\n".join([*globals_, *lines[begin:end]]))
    out: dict[str, str] = {}
    for k, word in enumerate(code.word):
        if word not in _TYPES:
            continue
        at = code.pair[k + 1] + 1 if code.word[k + 1 : k + 2] == ["<"] and k + 1 in code.pair else k + 1
        while at < len(code.word) and re.match(r"[A-Za-z_]\w*$", code.word[at]) and code.word[at] != "char":
            after = code.word[at + 1] if at + 1 < len(code.word) else ""
            if after == "(" and word in _SCALARS or after == "::":  # a function
                break
            out.setdefault(code.word[at], _TYPES[word])
            at += 1
            while at < len(code.word) and code.word[at] not in (",", ";", ")"):
                at = code.pair[at] + 1 if code.word[at] in "([{" and at in code.pair else at + 1
            if at >= len(code.word) or code.word[at] != "," or at + 1 >= len(code.word):
                break
            at += 1
            if code.word[at] in _TYPES or code.word[at + 1 : at + 2] and re.match(r"[A-Za-z_]", code.word[at + 1]):
                break
    return {name: kind for name, kind in out.items() if name not in _TYPES and name != "const"}
