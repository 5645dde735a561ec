"""Which line of which file a line of compiled text is: `#line` read the way a compiler reads it, in both directions.

A learner's text may be put together from a cell and the file around it, and the lab adds its own part behind; errors
come back as (file, line) of those parts, while showing or searching them needs the text as it was compiled.
"""

from __future__ import annotations

import re

_LINE = re.compile(r'^[ \t]*#[ \t]*line[ \t]+(\d+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?')
_LOWERED = re.compile(
    r'::twin::bind<[^\n]*?>\((?:"[^"\n]*"|TWIN_TEXT\([^\n]*?\)), '
    r"\[&\]\(auto\.\.\. twin_a\) \{ (?P<call>.*?)\(twin_a\.\.\.\); \}, "
    r'|::labkit::bind\("[^"]*", (?P<adapter>.*?)/\*<<<\*/, |\)/\*>>>\*/| TWIN_ON_STACK\((?P<array>\w+)\);',
    re.S,
)


class LineMap:
    """physical: the n-th line of `text`, from 1. logical: (file, line) as a compiler would report it."""

    def __init__(self, text: str, filename: str) -> None:
        self.lines = text.split("\n")
        self._logical: list[tuple[str, int]] = []
        self._physical: dict[tuple[str, int], int] = {}
        file, line = filename, 1
        begun = False
        for number, content in enumerate(self.lines, 1):
            self._logical.append((file, line))
            m = _LINE.match(content)
            if m:
                file, line = (re.sub(r"\\(.)", r"\1", m[2]) if m[2] is not None else file), int(m[1])
                if not begun and (file, line) == (filename, 1):
                    self._physical.clear()  # what the lab put in front is no line of the file
                begun = True
                continue
            self._physical.setdefault((file, line), number)
            line += 1

    @property
    def files(self) -> set[str]:
        return {file for file, _ in self._physical}

    def physical(self, file: str, line: int) -> int:
        """The line of the text, 0 when (file, line) is not in it."""
        return self._physical.get((file, line), 0)

    def logical(self, number: int) -> tuple[str, int]:
        """(file, line) of a line of the text; the last one for a number beyond it."""
        return self._logical[min(max(number, 1), len(self._logical)) - 1]


def unlower(line: str, column: int = 0) -> tuple[str, int]:
    """(line as the learner wrote it, column in it) of one line of lowered text; columns from 1, 0 for none."""
    out, at, moved = "", 0, column
    for m in _LOWERED.finditer(line):
        out += line[at : m.start()]
        call = m["call"] or m["adapter"]
        new = "" if m["array"] else ">>>" if call is None else f"{call}<<<"
        if column > m.end():
            moved += len(new) - len(m[0])
        elif column > m.start():
            moved = len(out) + 1
        out, at = out + new, m.end()
    return out + line[at:], moved
