"""PyTorch's errors of registration in the learner's words,
and mistakes that can be seen before anything is compiled.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from labkit import messages
from labkit.source.scan import Outline, mask

_NAMESPACE = re.compile(r"\bTORCH_LIBRARY(?:_FRAGMENT)?\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")
_KINDS = (  # pattern on PyTorch's own text -> message
    (r"Tried to register an operator \((?P<op>[\w:.]+)\(", "adapter.twice"),
    (r"Only a single TORCH_LIBRARY can be used to register the namespace (?P<op>\w+)", "adapter.fragment"),
    (
        r"Inferred operator schema for a C\+\+ kernel function doesn't match.*?operator: (?P<op>[\w:.]+)",
        "adapter.mismatch",
    ),
    (r"(?:registered|implementation|kernel).*?multiple times.*?(?P<op>\w+::\w+)", "adapter.twice"),
)


class RegistrationError(RuntimeError):
    """An operator could not be registered; the text says which line, why, and what to write."""

    def _render_traceback_(self) -> list[str]:
        return str(self).split("\n")


def explained(said: str, name: str) -> RegistrationError:
    """said: "file:line", then PyTorch's text."""
    place, _, text = said.partition("\n")
    file, _, line = place.rpartition(":")
    if PurePath(file).name != PurePath(name).name:  # a #line says where the text comes from
        name = file
    text = text.strip()
    for pattern, key in _KINDS:
        if m := re.search(pattern, text, re.S):
            return RegistrationError(messages.text(key, file=name, line=line, op=m["op"], said=_short(text)))
    return RegistrationError(messages.text("adapter.refused", file=name, line=line, said=_short(text)))


def _short(text: str) -> str:
    """PyTorch's words without the place in its own sources."""
    lines = [
        line
        for line in text.split("\n")
        if not re.match(r"Exception raised from|frame #|.*registered at .*\.cpp", line)
    ]
    return "\n".join(lines).strip()[:1200]


def check_schemas(text: str, name: str) -> list[str]:
    """Names of the operators that the text defines. Raises RegistrationError:
    a schema that PyTorch cannot read, pybind11.
    """
    import torch

    found = []
    if m := re.search(r"\bPYBIND11_MODULE\b", mask(text)):
        file, line = _place(text, m.start(), name)
        raise RegistrationError(messages.text("adapter.pybind", file=file, line=line))
    for start, m, ns in _definitions(text):
        schema = "".join(part for part in re.findall(r'"((?:\\.|[^"\\])*)"', m[1]))
        try:
            parsed = torch._C.parse_schema(schema if "::" in schema.partition("(")[0] else f"{ns}::{schema}")
        except RuntimeError as error:
            said = str(error).strip().split("\n")
            file, line = _place(text, start, name)
            raise RegistrationError(
                messages.text("adapter.schema", file=file, line=line, schema=schema, said="\n".join(said[:6]))
            ) from None
        found.append(parsed.name)
    return list(dict.fromkeys(found))


def _place(text: str, offset: int, name: str) -> tuple[str, int]:
    """(file, line) of an offset, as the #line in front of it says."""
    marks = list(re.finditer(r'^[ \t]*#[ \t]*line[ \t]+(\d+)[ \t]+"([^"\n]*)"', text[:offset], re.M))
    if not marks:
        return name, text.count("\n", 0, offset) + 1
    return marks[-1][2], int(marks[-1][1]) + text.count("\n", marks[-1].end(), offset) - 1


def _definitions(text: str):
    """(offset, match of the strings, namespace) of every `m.def("...")` with a schema in it."""
    outline = Outline(text)
    for library in _NAMESPACE.finditer(outline.masked):
        ns = text[library.start(1) : library.end(1)]
        block = next((b for b in outline.blocks if b.head <= library.start() < b.open), None)
        if block is None:
            continue
        for m in re.finditer(
            rf'\b{library[2]}\s*\.\s*def\s*\(\s*(?:\w+\s*\(\s*)?((?:"(?:\\.|[^"\\])*"\s*)+)',
            text[block.open : block.close],
        ):
            commented = outline.masked[block.open + m.start()].isspace()
            if "(" in m[1] and not commented:
                yield block.open + m.start(), m, ns
