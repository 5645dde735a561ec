"""Python's functions as rows of a trace, from the stacks of the operators.

A profiler on hardware hooks into every call of Python. Here only operators have stacks (with_stack): a function is
drawn from the first operator that it issued to the last one, since between those moments nothing of Python takes time
on the virtual clock. It is the same call as long as the lines of the functions around it are the same: two calls from
one line (a loop's) with nothing between them are one row. The line in its name is the one from which it issued the
first operator. A function that goes on over several steps, or into and out of a record_function, has a row in each.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from labkit.profiler.layout import Layout


@dataclass
class Frame:
    """name: "file(line): function"; number and parent: "Python id" and "Python parent id", None at the outside."""

    name: str
    tid: int
    begin: int
    end: int
    number: int
    parent: int | None
    now: str = ""  # the name with the line of the newest operator

    def is_at(self, line: str) -> bool:
        return _bare(self.now) == _bare(line)


def _bare(name: str) -> str:
    """Without the line's number."""
    return re.sub(r"\(\d+\)(?=: )", "", name)


def _stack(span) -> list[str]:
    """Outermost first."""
    return [line.strip() for line in reversed(span.range.stack)]


def frames(layout: Layout) -> list[Frame]:
    """Outer ones before those within; [] without stacks."""
    if not layout.settings.with_stack:
        return []
    children: dict[int, list] = defaultdict(list)
    for span in layout.spans:
        children[span.range.parent].append(span)
    found: list[Frame] = []

    def draw(parent: int, outside: list[Frame]) -> None:
        """The rows of what lies directly in a range; `outside`: the rows that are open around it."""
        by_thread = defaultdict(list)
        for span in children[parent]:
            by_thread[span.tid].append(span)
        for tid, spans in by_thread.items():
            open_: list[Frame] = list(outside)
            for span in sorted(spans, key=lambda s: (s.begin, s.index)):
                names = _stack(span)
                if span.range.kind not in ("op", "backward"):
                    # what opened the range (record_function's __enter__) has returned when its first operator runs
                    within = next((_stack(s) for s in children[span.index] if s.range.stack), [])
                    alike = [_bare(a) == _bare(b) for a, b in zip(names, within)]
                    names = names[: alike.index(False) if False in alike else len(alike)]
                same = 0
                while same < min(len(open_), len(names)) and open_[same].is_at(names[same]):
                    moved = open_[same].now != names[same]
                    same += 1
                    if moved:  # what it called from the line before has ended
                        break
                same = max(same, len(outside))
                if names:  # a range without a stack is no reason to believe that the functions around it ended
                    del open_[same:]
                    for frame, name in zip(open_, names):
                        frame.now = name
                    for name in names[same:]:
                        inside = open_[-1].number if open_ else None
                        open_.append(Frame(name, tid, span.begin, span.end, len(found), inside, name))
                        found.append(open_[-1])
                for frame in open_[len(outside) :]:
                    frame.end = max(frame.end, span.end)
                if span.range.kind not in ("op", "backward"):
                    draw(span.index, list(open_))

    draw(-1, [])
    return found
