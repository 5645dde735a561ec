"""Which brace is the wrong one, when braces do not match: the indentation says what the author meant."""

from __future__ import annotations

import re

from labkit.source.scan import mask

_BRANCH = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|else|elif|endif)\b[^\n]*", re.M)


def _one_branch(text: str) -> str:
    """Masked text with only the first branch of each `#if` left, and nothing of `#if 0`:
    braces may match branchwise.
    """
    plain, out, at = mask(text, directives=False), [], 0
    hidden: list[bool] = []  # one flag a level; `zero` says that the level began with `#if 0`
    zero: list[bool] = []
    for m in _BRANCH.finditer(plain):
        part = plain[at : m.end()]
        out.append(re.sub(r"[^\n]", " ", part) if any(hidden) else part)
        at = m.end()
        if m[1].startswith("if"):
            zero.append(bool(re.fullmatch(r"\s*#\s*if\s+0\s*", m[0])))
            hidden.append(zero[-1])
        elif hidden and m[1] == "endif":
            hidden.pop()
            zero.pop()
        elif hidden:
            hidden[-1], zero[-1] = not zero[-1], False
    out.append(plain[at:])
    return mask("".join(out))


def unbalanced(text: str) -> tuple[str, int, int] | None:
    """("open" | "extra", line, column) of the brace to blame, or None when all match.

    An open brace is blamed where the closing one that took its place is indented less than its own line; without
    such a sign the innermost brace left open is.
    """
    masked = _one_branch(text)
    lines = masked.split("\n")
    stack: list[tuple[int, int]] = []
    suspect: tuple[int, int] | None = None
    for number, line in enumerate(lines, 1):
        for m in re.finditer(r"[{}]", line):
            if m[0] == "{":
                stack.append((number, m.start() + 1))
            elif not stack:
                return "extra", number, m.start() + 1
            else:
                opened = stack.pop()
                leads = not line[: m.start()].strip()
                if leads and suspect is None and _indent(line) < _indent(lines[opened[0] - 1]):
                    suspect = opened
    if not stack:
        return None
    line, column = suspect or stack[-1]
    return "open", line, column


def _indent(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())
