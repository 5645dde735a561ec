"""A scanner for C++ text: enough to find kernels, structs and launches, never enough to be a compiler.

Everything works on offsets into the unchanged text. `mask` blanks what is no code (comments, the inside of strings)
without moving anything, so that a pattern found in the mask stands at the same place in the text.
"""

from __future__ import annotations

import operator
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""
    (?P<raw>(?:u8|[uUL])?R"(?P<delim>[^()\\\s"]{0,16})\(.*?\)(?P=delim)")
  | (?P<comment>//(?:\\\n|[^\n])* | /\*.*?(?:\*/|\Z))
  | (?P<string>"(?:\\.|[^"\\\n])*"?)
  | (?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
  | [A-Za-z_]\w*
  | (?P<char>'(?:\\.|[^'\\\n])*'?)
""",
    re.S | re.X,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
_VISIBLE = re.compile(r"[^\n]")


def _blank(text: str) -> str:
    return _VISIBLE.sub(" ", text)


def mask(text: str, *, directives: bool = True) -> str:
    """`text` with comments and the inside of string and character literals turned into spaces; same length, same lines.

    directives: blank the preprocessor lines too (with their continuations).
    """

    def hide(m: re.Match) -> str:
        if m["comment"] is not None:
            return _blank(m[0])
        if m["raw"] is not None or m["string"] is not None or m["char"] is not None:
            quote = "'" if m["char"] is not None else '"'
            start = m[0].index(quote)
            closed = len(m[0]) > start + 1 and m[0].endswith(quote)
            inside = m[0][start + 1 : -1] if closed else m[0][start + 1 :]
            return m[0][: start + 1] + _blank(inside) + (quote if closed else "")
        return m[0]

    masked = _TOKEN.sub(hide, text)
    return _DIRECTIVE.sub(lambda m: _blank(m[0]), masked) if directives else masked


class Lines:
    """Offsets to line and column, both from 1."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def column(self, offset: int) -> int:
        return offset - self._starts[self.line(offset) - 1] + 1


_CLOSING = {"(": ")", "[": "]", "{": "}"}


def closing(masked: str, start: int) -> int:
    """Offset of the bracket that closes the one at `start`; -1 when there is none."""
    depth = 0
    for i in range(start, len(masked)):
        c = masked[i]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return i if c == _CLOSING[masked[start]] else -1
    return -1


def closing_angle(masked: str, start: int) -> int:
    """Offset of the `>` that closes the `<` at `start`, brackets inside skipped; -1 when there is none."""
    depth, i = 0, start
    while i < len(masked):
        c = masked[i]
        if c in "([{":
            i = closing(masked, i)
            if i < 0:
                return -1
        elif c == "<" and masked[i + 1 : i + 2] in ("<", "="):
            i += 1  # `<<` and `<=` are operators
        elif c == "<":
            depth += 1
        elif c == ">" and masked[i - 1] != "-":
            depth -= 1
            if depth == 0:
                return i
        elif c in ";)]}":
            return -1
        if depth == 0:  # an operator at `start`
            return -1
        i += 1
    return -1


def split(masked: str, start: int, end: int, *, angles: bool = True, separator: str = ",") -> list[tuple[int, int]]:
    """The (start, end) of each part between separators that stand outside brackets (and, with angles, outside `<>`).

    A `<` that no `>` closes is an operator: `a = 1 << 12, b` and `a = 8 < 9, b` have two parts.
    """
    parts, begin, depth, i = [], start, 0, start
    while i < end:
        c = masked[i]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif angles and depth == 0 and c == "<":
            if masked[i + 1 : i + 2] == "<":
                i += 1  # the second of `<<` opens nothing either
            else:
                close = closing_angle(masked[:end], i)
                i = close if close >= 0 else i
        elif c == separator and depth == 0:
            parts.append((begin, i))
            begin = i + 1
        i += 1
    parts.append((begin, end))
    return parts


# ---- blocks: what every pair of braces is


@dataclass
class Block:
    """A pair of braces and the text in front of it.

    kind: "namespace" | "linkage" | "type" | "function" | "other"; name: of the namespace, type or function.
    head: offset where the text in front of `{` starts; open, close: offsets of the braces.
    """

    kind: str
    name: str
    head: int
    open: int
    close: int
    parent: Block | None = field(default=None, repr=False)

    def chain(self) -> Iterator[Block]:
        """This block and those around it, innermost first."""
        block: Block | None = self
        while block is not None:
            yield block
            block = block.parent


class Outline:
    """Blocks and statement boundaries of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.masked = mask(text)
        self.lines = Lines(text)
        self.blocks: list[Block] = []
        self._boundaries = [-1]
        self._walk()
        self._opens = [b.open for b in self.blocks]

    def _walk(self) -> None:
        stack: list[Block | None] = []  # None: braces of an initialiser, which end no statement
        parens = [0]
        for m in re.finditer(r"[(){};]", self.masked):
            c, at = m[0], m.start()
            if c == "(":
                parens[-1] += 1
            elif c == ")":
                parens[-1] = max(0, parens[-1] - 1)
            elif c == "{":
                block = self._classify(at, next((b for b in reversed(stack) if b), None), parens[-1] > 0)
                stack.append(block)
                parens.append(0)
                if block is not None:
                    self.blocks.append(block)
                    self._boundaries.append(at)
            elif c == "}" and stack:
                block = stack.pop()
                parens.pop()
                if block is not None:
                    block.close = at
                    self._boundaries.append(at)
            elif c == ";" and parens[-1] == 0:
                self._boundaries.append(at)

    def statement_start(self, offset: int) -> int:
        """Offset just after the `;`, `{` or `}` that ends what stands before the statement at `offset`."""
        return self._boundaries[bisect_left(self._boundaries, offset) - 1] + 1

    def around(self, offset: int) -> Block | None:
        """The innermost block that holds `offset`."""
        for block in reversed(self.blocks[: bisect_left(self._opens, offset)]):
            if block.open < offset <= block.close:
                return block
        return None

    def _classify(self, at: int, parent: Block | None, in_parens: bool) -> Block | None:
        head = self._boundaries[-1] + 1
        front = strip_attributes(self.masked[head:at])
        kind, name = classify_head(front, in_function=parent is not None and parent.kind in ("function", "other"))
        if kind == "initialiser" or (in_parens and kind != "other"):
            return None
        return Block(kind, name, head, at, len(self.masked), parent)


_ATTRIBUTES = re.compile(
    r"\[\[.*?\]\]|\balignas\s*\([^()]*\)|__attribute__\s*\(\(.*?\)\)|\b__launch_bounds__\s*\([^()]*\)"
    r"|\b__(?:mix|schedmode)__\s*\([^()]*\)",
    re.S,
)
_TYPE = re.compile(
    r"^(?:typedef\s+)?(?:struct|class|union|enum(?:\s+(?:class|struct))?)\b\s*([A-Za-z_]\w*)?\s*(?:<[^=;]*>\s*)?"
    r"(?:final\b\s*)?(?::[^()]*)?$"
)
_FUNCTION_END = re.compile(r"\)\s*(?:const|volatile|noexcept|override|final|mutable|&|\s|->[\s\w:<>,*&]+)*$")
_INIT_LIST = re.compile(r"\)\s*(?:noexcept\s*)?:\s*[A-Za-z_].*$", re.S)


def strip_attributes(head: str) -> str:
    """`head` without attributes, alignas and execution-space words that take arguments; length kept."""
    return _ATTRIBUTES.sub(lambda m: _blank(m[0]), head)


def strip_template(head: str) -> str:
    """`head` without a leading `template <...>` and access labels."""
    head = re.sub(r"^\s*(?:(?:public|private|protected)\s*:(?!:)\s*)+", "", head).lstrip()
    while True:
        m = re.match(r"template\s*<", head)
        end = closing_angle(head, m.end() - 1) if m else -1
        if end < 0:
            return head
        head = head[end + 1 :].lstrip()


def classify_head(front: str, *, in_function: bool = False) -> tuple[str, str]:
    """(kind, name) of the block that starts after `front`."""
    front = strip_template(front).strip()
    if m := re.search(r"(?:^|\s)(?:inline\s+)?namespace\b\s*([\w:]*)\s*$", front):
        return "namespace", m[1]
    if re.fullmatch(r'extern\s*"\s*"', front):
        return "linkage", ""
    if m := _TYPE.match(front):
        return "type", m[1] or ""
    if front.endswith(("=", ",", "return", "(")):
        return "initialiser", ""
    if in_function or not front:
        return (
            ("initialiser", "")
            if re.search(r"[\w>]$", front) and not re.search(r"\b(?:else|do|try)$", front)
            else ("other", "")
        )
    if _FUNCTION_END.search(front):
        return "function", function_name(front)
    if _INIT_LIST.search(front):
        return ("function", function_name(front)) if front.endswith((")", "}")) else ("initialiser", "")
    return ("initialiser", "") if re.search(r"[\w>]$", front) else ("other", "")


def function_name(front: str) -> str:
    """The name in front of the parameter list of a function head, "" where there is none (a lambda)."""
    m = re.search(r"(~?[A-Za-z_]\w*|operator\s*[^\s\w(]+)\s*\(", front)
    return re.sub(r"\s", "", m[1]) if m else ""


# Whole numbers as the preprocessor reckons with them: its order is not Python's (`!A == 1`, `3 > 2 > 1`, `A | B == 2`).
_OPERATORS = {
    "||": (1, lambda a, b: int(a != 0 or b != 0)),
    "&&": (2, lambda a, b: int(a != 0 and b != 0)),
    "|": (3, operator.or_),
    "&": (4, operator.and_),
    "==": (5, operator.eq),
    "!=": (5, operator.ne),
    **{sign: (6, getattr(operator, name)) for sign, name in (("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge"))},
    "<<": (7, operator.lshift),
    ">>": (7, operator.rshift),
    "+": (8, operator.add),
    "-": (8, operator.sub),
    "*": (9, operator.mul),
    "%": (9, lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1)),
}


def worth(text: str) -> int:
    """The value of numbers and operators. Raises LookupError, ArithmeticError, ValueError."""
    words = re.findall(r"0[xX][\da-fA-F]+|\d+|&&|\|\||<<|>>|[<>=!]=|\S", text)[::-1]

    def operand() -> int:
        word = words.pop()
        if word == "(":
            value = reckoned(0)
            if words.pop() != ")":
                raise ValueError(text)
            return value
        if word in "!-+":
            value = operand()
            return int(value == 0) if word == "!" else -value if word == "-" else value
        return int(word, 8 if re.fullmatch(r"0\d+", word) else 0)

    def reckoned(least: int) -> int:
        value = operand()
        while words and words[-1] in _OPERATORS and _OPERATORS[words[-1]][0] > least:
            level, work = _OPERATORS[words.pop()]
            value = int(work(value, reckoned(level)))
        return value

    value = reckoned(0)
    if words:
        raise ValueError(text)
    return value
