"""Ascend C in IPython: names of the API with their line while one types in a C++ cell, and Shift-Tab on one.

IPython's own matchers see Python in every cell. In a cell that begins with %%ascendc, or with %%exercise of a C++
exercise, this one answers instead of them: API names, and the identifiers of the cell itself. A completion's `type`
carries the documentation line, which front ends show beside the name.
"""

from __future__ import annotations

import re

from labkit import messages
from labkit.book.names import names, starting

_WORD = re.compile(r"[A-Za-z_]\w*$")
_FIRST = re.compile(r"\s*%%(ascendc|exercise)\b[ \t]*(\S*)")


def is_cpp(cell: str) -> bool:
    """Whether a cell holds Ascend C."""
    first = _FIRST.match(cell)
    if not first or first[1] == "ascendc":
        return bool(first)
    from labkit.exercises.spec import SpecError, load

    try:
        return load(first[2]).comment == "//"
    except (SpecError, OSError):
        return True  # a typing error in the id; there are more exercises in C++


def offers(cell: str, before: str) -> tuple[str, list[tuple[str, str]]]:
    """(what is completed, [(name, its line)]) for a cursor behind `before`; the cell's own identifiers first."""
    word = _WORD.search(before)
    if not word or "\n" not in before.lstrip() or not is_cpp(cell):
        return "", []
    part = word[0]
    known = names()
    own = {w for w in re.findall(r"[A-Za-z_]\w{2,}", cell.partition("\n")[2]) if w.startswith(part)}
    own -= {part, *known}
    api = [(n.name, n.line or messages.text("book.no-line")) for n in starting(part)]
    return part, [(w, messages.text("book.in-cell")) for w in sorted(own)] + api


def _matcher(context) -> dict:
    from IPython.core.completer import SimpleCompletion

    lines = context.full_text.split("\n")
    before = "\n".join([*lines[: context.cursor_line], lines[context.cursor_line][: context.cursor_position]])
    part, found = offers(context.full_text, before)
    return {
        "completions": [SimpleCompletion(text=name, type=line) for name, line in found],
        "matched_fragment": part,
        "suppress": bool(found),
        "ordered": True,
    }


def register(shell) -> None:
    """Into a running IPython (8.6 or later; an older one is left alone). Harmless when done twice."""
    completer = getattr(shell, "Completer", None)
    if completer is None or not hasattr(completer, "custom_matchers"):
        return
    if any(getattr(m, "matcher_identifier", "") == "labkit.ascendc" for m in completer.custom_matchers):
        return
    from IPython.core.completer import context_matcher

    completer.custom_matchers.append(context_matcher(identifier="labkit.ascendc", priority=10)(_matcher))
    look = shell.object_inspect_mime

    def inspect(oname: str, *args, **kwargs) -> dict:
        """Python's names as ever; a name that only Ascend C has gives its documentation line."""
        try:
            return look(oname, *args, **kwargs)
        except KeyError:
            found = names().get(oname)
            if found is None:
                raise
            return found._repr_mimebundle_()

    shell.object_inspect_mime = inspect
