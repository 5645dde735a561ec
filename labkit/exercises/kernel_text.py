"""C++ text as words: operands, arguments, statements, what stands around a place; and an answer's text beside ours."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from labkit.exercises.alike import KEPT
from labkit.exercises.changes import closed
from labkit.exercises.stub import Template

SHORT = 24  # characters
_TOKEN = re.compile(
    r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\d[\w.]*|[A-Za-z_]\w*|<<<|>>>|::|->|\+\+|--|<<=|>>=|<<|<=|>=|==|!=|&&'
    r"|\|\||[-+*/%&|^]=|\S"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_ANGLES = re.compile(r"\b\w+\s*(<[^<>;(){}=&|]*(?:<[^<>;(){}=&|]*>)?[^<>;(){}=&|]*>)(?=\s*[\w(:{,&*>)\]])")
LEVEL = {"||": 0, "&&": 1, "<": 2, "<=": 2, ">": 2, ">=": 2, "==": 2, "!=": 2, "+": 3, "-": 3, "*": 4, "/": 4, "%": 4}


@dataclass
class Code:
    """The words of a region. word[k] stands at start[k]; pair[k]: the bracket that belongs to the bracket k."""

    text: str
    word: list[str] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    pair: dict[int, int] = field(default_factory=dict)

    def __post_init__(self):
        blank = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), self.text)
        for m in _TOKEN.finditer(blank):
            self.word.append(m[0])
            self.start.append(m.start())
        angles = {p for m in _ANGLES.finditer(blank) for p in (m.start(1), m.end(1) - 1)}
        opened: list[int] = []
        for k, word in enumerate(self.word):
            if word in "([{" or word == "<" and self.start[k] in angles:
                opened.append(k)
            elif (word in ")]}" or word == ">" and self.start[k] in angles) and opened:
                other = opened.pop()
                self.pair[k], self.pair[other] = other, k

    def end(self, k: int) -> int:
        return self.start[k] + len(self.word[k])

    def between(self, a: int, b: int) -> str:
        """The words a to b, b not among them."""
        return " ".join(self.text[self.start[a] : self.end(b - 1)].split()) if a < b else ""

    def is_value(self, k: int) -> bool:
        return 0 <= k < len(self.word) and bool(re.match(r"\w", self.word[k]))

    def behind(self, k: int) -> int:
        """The end of the operand that begins at k: a name or number with what is called, indexed, taken of it."""
        while k < len(self.word) and self.word[k] in "-!~&*":
            k += 1
        if k >= len(self.word):
            return k
        if self.word[k] == "(" and k in self.pair:
            k = self.pair[k] + 1
            if self.is_value(k):  # a cast: (T)x
                return self.behind(k)
        else:
            k += 1
        while k < len(self.word):
            if self.word[k] in "([<{" and k in self.pair and self.word[k] != "{":
                k = self.pair[k] + 1
            elif self.word[k] in (".", "->", "::"):
                k += 2
            else:
                break
        return k

    def before(self, k: int) -> int:
        """The begin of the operand whose last word is k."""
        while True:
            while self.word[k] in ")]>" and k in self.pair:
                k = self.pair[k]
                if k and (self.is_value(k - 1) or self.word[k - 1] in ")]>" and k - 1 in self.pair):
                    k -= 1
                else:
                    return k
            if k >= 2 and self.word[k - 1] in (".", "->", "::"):
                k -= 2
            else:
                return k

    def binary(self, k: int) -> bool:
        return (
            self.word[k] in LEVEL
            and k not in self.pair
            and k > 0
            and (self.is_value(k - 1) and self.word[k - 1] != "return" or self.word[k - 1] in ")]")
            and k + 1 < len(self.word)
            and (self.is_value(k + 1) or self.word[k + 1] in "(-!")
        )

    def right(self, k: int) -> int:
        """The end of the right operand of the operator k."""
        level, end = LEVEL[self.word[k]], self.behind(k + 1)
        while end < len(self.word) and self.binary(end) and LEVEL[self.word[end]] > level:
            end = self.behind(end + 1)
        return end

    def left(self, k: int) -> int:
        level, begin = LEVEL[self.word[k]], self.before(k - 1)
        while begin > 0 and self.binary(begin - 1) and LEVEL[self.word[begin - 1]] >= level:
            begin = self.before(begin - 2)
        return begin

    def arguments(self, k: int) -> list[tuple[int, int]]:
        """(first, end) of each argument in the bracket k."""
        out, first, at = [], k + 1, k + 1
        while at < self.pair[k]:
            if self.word[at] == ",":
                out.append((first, at))
                first = at + 1
            at = self.pair[at] + 1 if self.word[at] in "([{<" and at in self.pair and self.pair[at] > at else at + 1
        return [*out, (first, self.pair[k])] if self.pair[k] > k + 1 else []

    def statements(self) -> Iterator[tuple[int, int, int]]:
        """(first, end, the `{` around it or -1)"""
        first, inside, at = 0, [-1], 0
        while at < len(self.word):
            word = self.word[at]
            if word in "([" and at in self.pair:
                at = self.pair[at]
            elif word == "{" and at in self.pair:
                if self.word[at - 1] in (")", "else", "do") or self.word[first] in ("struct", "class") or at == first:
                    inside.append(at)
                    first = at + 1
                else:
                    at = self.pair[at]
            elif word == "}":
                inside = inside[:-1] or [-1]
                first = at + 1
            elif word == ";":
                yield first, at + 1, inside[-1]
                first = at + 1
            at += 1


def around(text: str, at: int, length: int, most: int = 76) -> str:
    """The statement, else the call or index, around a place, as one line."""
    code = Code(text)
    k = max(0, bisect(code.start, at + max(0, length - 1)) - 1)
    if not code.word:
        return ""
    for first, end, _ in code.statements():
        if first <= k < end and len(code.between(first, end)) <= most:
            return code.between(first, end).rstrip(";")
    best = ""
    if k + 1 in code.pair and code.word[k + 1] in "([" and len(code.between(k, code.pair[k + 1] + 1)) <= most:
        return code.between(k, code.pair[k + 1] + 1)
    for a in sorted((a for a, b in code.pair.items() if a <= k <= b and code.word[a] in "(["), reverse=True):
        whole = code.between(code.before(code.pair[a]), code.pair[a] + 1)
        if len(whole) > most:
            break
        best = whole
    if best:
        return best
    a, b = max(0, k - 5), min(len(code.word), k + 6)
    return ("... " if a else "") + code.between(a, b) + (" ..." if b < len(code.word) else "")


@dataclass(frozen=True)
class Difference:
    """One place in which the answer's text is not ours. new: what it has there; old: what we have; back: the answer
    with ours in that place; there: our solution with the answer's; code: what stands around it in the answer."""

    new: str
    old: str
    back: str
    there: str
    code: str

    def at_one_place(self, alike: float) -> bool:
        """Is it within one statement, and short, an insertion, or ours and the answer's to that part the same?"""
        both = self.new, self.old
        if " ... " in self.new + self.old or any(len(re.findall(r"\w = |\breturn ", t)) > 1 for t in both):
            return False
        short = not all(both) or max(map(len, both)) <= SHORT
        return short or SequenceMatcher(None, *both).ratio() >= alike


def differences(ours: Template, source: str) -> list[Difference]:
    """Word by word where the words make sense alone, then statement by statement, then what opens a bracket together
    with what closes it, then all other words."""
    pairs = [(Code(mine), Code(body)) for (mine, _), body in zip(ours.split(source), ours.bodies())]
    own = _own_names(ours, pairs)
    pairs = [(Code(_renamed(mine.text, own)), body) for mine, body in pairs]
    turned = {new: old for old, new in own.items()}
    texts = [[pair[k].text for pair in pairs] for k in (0, 1)]

    def made(r: int, hunks: list[tuple[int, int, int, int]], lines: bool = False) -> Difference:
        mine, body = pairs[r]
        back, there = mine.text, body.text
        for a, b, c, d in reversed(hunks):
            x, y = _span(mine, a, b), _span(body, c, d)
            mend, slip = body.text[slice(*y)], mine.text[slice(*x)]
            back = _put(back, x, _line(back, x, mend) if lines else mend)
            there = _put(there, y, _line(there, y, slip) if lines else slip)
        new, old = (
            " ... ".join(dict.fromkeys(filter(None, parts)))
            for parts in ([mine.between(*h[:2]) for h in hunks], [body.between(*h[2:]) for h in hunks])
        )
        a, b = hunks[0][:2]
        x = _span(mine, a, b)
        near = around(mine.text, x[0], x[1] - x[0]) if a < b and len(hunks) == 1 else ""
        cells = [ours.cell([*those[:r], text, *those[r + 1 :]]) for those, text in zip(texts, (back, there))]
        return Difference(_renamed(new, turned), _renamed(old, turned), *cells, _renamed(near, turned))

    single, open_, same = [], [], []
    for r, (mine, body) in enumerate(pairs):
        hunks = _hunks(mine, body, False)
        single += [made(r, [one]) for one in hunks]
        alike: dict[tuple[str, str], list] = {}
        for one in hunks:
            alike.setdefault((mine.between(*one[:2]), body.between(*one[2:])), []).append(one)
        same += [made(r, those) for those in alike.values() if len(those) > 1]
        torn = [h for h in hunks if not (_balanced(mine, *h[:2]) and _balanced(body, *h[2:]))]
        open_ += [made(r, torn)] if 1 < len(torn) <= 4 else []
    lines = ours.comment == "#"
    whole = [made(r, [one], lines) for r, pair in enumerate(pairs) for one in _hunks(*pair, True, lines)]
    clean = [d for d in single if _clean(d.new) and _clean(d.old)]
    out: dict[tuple[str, str], Difference] = {}
    for one in (*clean, *same, *whole, *open_, *single):
        out.setdefault((one.back, one.there), one)
    return list(out.values())


def _balanced(code: Code, a: int, b: int) -> bool:
    return all(a <= code.pair.get(k, k) < b for k in range(a, b)) and not any(
        code.word[k] in "(){}[]" and k not in code.pair for k in range(a, b)
    )


def _clean(text: str) -> bool:
    """Does it neither begin nor end within an expression, but for one operator in front?"""
    if re.fullmatch(r"\.\w+\(.*\)|, \w+ ?= ?[\w.]+", text):
        return True  # a method or a named argument more: .contiguous(), mask=inside
    return not re.search(r"[?:,=]$|^[?:,=.;)\]}]|[-+*/%(\[{.]$|;.", text) and all(
        text.count(o) == text.count(c) for o, c in ("()", "[]", "{}")
    )


def _put(text: str, at: tuple[int, int], new: str) -> str:
    """`new` in place of a part of a text, with a blank where two words would become one."""
    before, after = text[: at[0]], text[at[1] :]
    for one in (new, after):
        glued = re.search(r"\w\Z", before) and re.match(r"\w", one)
        before += (" " if glued else "") + one
    return before


def _line(text: str, at: tuple[int, int], new: str) -> str:
    """Statements that go into Python where nothing is taken out, as lines of their own."""
    if at[0] < at[1] or not new:
        return new
    begin = text.rfind("\n", 0, at[0]) + 1
    indent = re.match(r"[ ]*", text[begin:])[0]
    return f"{new}\n{indent}" if text[at[0] :].strip() else f"\n{indent}{new}"


def _span(code: Code, a: int, b: int) -> tuple[int, int]:
    if a < b:
        return code.start[a], code.end(b - 1)
    at = code.start[a] if a < len(code.word) else len(code.text)
    return at, at


def _hunks(mine: Code, body: Code, whole: bool, lines: bool = False) -> list[tuple[int, int, int, int]]:
    """(first, end) in the answer and (first, end) in ours. whole: of whole statements."""
    if whole:
        parts = [_parts(mine, lines), _parts(body, lines)]
        texts = [[code.between(a, b) for a, b in those] for code, those in zip((mine, body), parts)]
    else:
        parts = [[(k, k + 1) for k in range(len(code.word))] for code in (mine, body)]
        texts = [mine.word, body.word]
    out: list[list[int]] = []
    for kind, *spans in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        place = []
        for those, first, end, code in zip(parts, spans[::2], spans[1::2], (mine, body)):
            begin = those[first][0] if first < len(those) else len(code.word)
            place += [begin, those[end - 1][1] if end > first else begin]
        place = place if whole else _slid(mine.word, body.word, place)
        if out and not whole and place[0] - out[-1][1] < 2 and place[2] - out[-1][3] < 2:
            out[-1][1], out[-1][3] = place[1], place[3]
        else:
            out.append(place)
    return [tuple(one) for one in out]


def _slid(mine: list[str], body: list[str], place: list[int]) -> list[int]:
    """What is put in or left out, moved along equal words until its brackets match: `f(x);` and not `); f(x`."""
    a, b, c, d = place
    if (b > a) == (d > c):
        return place
    words, at, end = (body, c, d) if d > c else (mine, a, b)

    def whole(k: int) -> bool:
        return closed(" ".join(words[at + k : end + k])) and words[at + k] != ";"

    def may(k: int) -> bool:  # from k on by one to the right
        return (
            a + k < len(mine)
            and c + k < len(body)
            and end + k < len(words)
            and (mine[a + k] == body[c + k] and words[at + k] == words[end + k])
        )

    right, left = 0, 0
    while not whole(right) and may(right):
        right += 1
    while not whole(left) and min(a, c) + left > 0 and may(left - 1):
        left -= 1
    return [k + next((s for s in (right, left) if whole(s)), 0) for k in place]


def _parts(code: Code, lines: bool) -> list[tuple[int, int]]:
    """Statements, heads of blocks and their brackets. lines: a line's end ends a statement, as in Python."""
    out, first, at = [], 0, 0
    while at < len(code.word):
        word = code.word[at]
        if word in "([" and at in code.pair:
            at = code.pair[at]
        elif word == "{" and at in code.pair and at and not (code.word[at - 1] == ")" or code.word[at - 1] == "else"):
            at = code.pair[at]
        elif word in ";{}":
            out.append((first, at + 1))
            first = at + 1
        at += 1
        if lines and first < at < len(code.word) and "\n" in code.text[code.end(at - 1) : code.start[at]]:
            out.append((first, at))
            first = at
    return [*out, *([(first, len(code.word))] if first < len(code.word) else [])]


def _own_names(ours: Template, pairs: list[tuple[Code, Code]]) -> dict[str, str]:
    """The answer's own name -> ours, where one stands in the place of the other more often than anything else. What is
    called or belongs to an object is no name of its own."""
    given = {*re.findall(r"\w+", "\n".join(ours.given())), *KEPT}
    theirs, ourselves = ({w for pair in pairs for w in pair[k].word} for k in (0, 1))
    seen: dict[tuple[str, str], int] = {}
    for mine, body in pairs:
        for kind, a, b, c, d in SequenceMatcher(None, mine.word, body.word, autojunk=False).get_opcodes():
            for i, j in zip(range(a, b), range(c, d)) if kind == "replace" and b - a == d - c else ():
                x, y = mine.word[i], body.word[j]
                if _borrowed(mine.word, i) or _borrowed(body.word, j):
                    continue
                if all(re.match(r"[A-Za-z_]\w*$", w) and w not in given for w in (x, y)):
                    if x not in ourselves and y not in theirs:
                        seen[x, y] = seen.get((x, y), 0) + 1
    out: dict[str, str] = {}
    for x, y in sorted(seen, key=lambda p: -seen[p]):
        if x not in out and y not in out.values():
            out[x] = y
    return out


def _borrowed(words: list[str], k: int) -> bool:
    """Is it an attribute, or something that is called and not defined here?"""
    before, after = words[k - 1] if k else "", words[k + 1] if k + 1 < len(words) else ""
    return before in (".", "->", "::") or after == "(" and before != "def"


def _renamed(text: str, names: dict[str, str]) -> str:
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda m: names.get(m[0], m[0]), text) if names else text


def stands(part: str, text: str) -> bool:
    """Is this part in the text? Of an operator: by itself, as `/` is not in `a // b`."""
    if re.fullmatch(r"\W+", part):
        return re.search(rf"(?<![/*<>=!]){re.escape(part)}(?![/*=<>])", text) is not None
    return part in text
