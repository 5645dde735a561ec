"""Two readings of an operator's source: its C++ side with PyTorch, and the kernels alone.

A source may hold both, as CANN's samples do, or include the kernel's own file. The device's side is compiled without
PyTorch, so what belongs to the host is blanked there; no line is moved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from labkit.source.scan import Outline, mask

_HOST = re.compile(
    r"<<<|\b(?:at|torch|c10|c10_npu|at_npu|pybind11)\s*::|\b(?:TORCH_\w+|PYBIND11_MODULE|aclrt\w+|aclnn\w+)\b"
)
_DEVICE = re.compile(r"\b(?:__global__|__aicore__)\b")
_HEADER = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*[<"](?:torch|ATen|c10|torch_npu|pybind11|acl)/[^\n]*|^[ \t]*#[ \t]*include[ '
    r'\t]*[<"]Python\.h[^\n]*',
    re.M,
)
_QUOTED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.M)


@dataclass(frozen=True)
class Part:
    """A text with kernels in it and the name it is known by."""

    text: str
    filename: str


def kernels_of(text: str, filename: str, folder: Path | None = None) -> list[Part]:
    """The text itself, where it has kernels, and the files that it includes with quotes and that have some."""
    here = folder or Path(filename).resolve().parent
    parts = []
    for name in _QUOTED.findall(text):
        path = here / name
        if path.is_file() and "__global__" in (inner := path.read_text(encoding="utf-8", errors="replace")):
            parts.append(Part(kernel_view(inner), str(path)))
    if "__global__" in mask(text):
        own = re.sub(
            _QUOTED,
            lambda m: "" if (here / m[1]).is_file() and any(p.filename == str(here / m[1]) for p in parts) else m[0],
            text,
        )
        parts.insert(0, Part(kernel_view(own), filename))
    return parts


def kernel_view(text: str) -> str:
    """`text` with all that belongs to the host blanked: PyTorch's headers, registrations, functions that use PyTorch or
    launch a kernel, and whatever mentions one of those."""
    outline = Outline(text)
    items = list(_items(outline))
    host, names = set(), set()
    while True:
        mentioned = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b") if names else None
        found = {
            i
            for i, (start, end, _) in enumerate(items)
            if i not in host
            and not _DEVICE.search(outline.masked, start, end)
            and (
                _HOST.search(outline.masked, start, end) or (mentioned and mentioned.search(outline.masked, start, end))
            )
        }
        if not found:
            break
        host |= found
        names |= {items[i][2] for i in found if items[i][2]}
    chars = list(text)
    spans = [items[i][:2] for i in host] + [m.span() for m in _HEADER.finditer(text)]
    for start, end in spans:
        chars[start:end] = [c if c == "\n" else " " for c in text[start:end]]
    return "".join(chars)


def _items(outline: Outline):
    """(start, end, name) of every definition and statement outside functions and types."""
    rest = list(outline.masked)
    for block in outline.blocks:
        around = list(block.chain())[1:]
        if any(b.kind not in ("namespace", "linkage") for b in around):
            continue
        if block.kind in ("namespace", "linkage"):
            rest[block.head : block.open + 1] = ";" * (block.open + 1 - block.head)
            if block.close < len(rest):
                rest[block.close] = ";"
            continue
        head = block.head + len(outline.masked[block.head :]) - len(outline.masked[block.head :].lstrip())
        end = min(block.close + 1, len(outline.masked))
        if block.kind == "type":
            semicolon = outline.masked.find(";", end)
            end = semicolon + 1 if semicolon >= 0 else end
        name = "" if re.match(r"[A-Z][A-Z0-9_]*$", block.name or "") and block.kind == "function" else block.name
        yield head, end, name
        rest[head:end] = ";" * (end - head)
    for m in re.finditer(r"[^;\s][^;]*;", "".join(rest)):
        words = re.findall(r"[A-Za-z_]\w*", m[0].partition("=")[0].partition("(")[0])
        using = re.match(r"using\s+(?!namespace)(\w+)\s*=", m[0])
        name = using[1] if using else words[-1] if words and not m[0].startswith("using namespace") else ""
        yield m.start(), m.end(), name
