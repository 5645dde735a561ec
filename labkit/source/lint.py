"""Device rules that a host compiler does not know: what runs on the twin and would fail, or be slow, on an NPU.

Every finding is a warning with a `code` (the key `lint.<code>` of messages/build.toml). Only device code is looked at:
functions marked `__aicore__` or `__global__` and the methods of their classes; a `.asc` file may use the whole
standard library in its host part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from labkit import messages
from labkit.source.errors import CompileError
from labkit.source.kernels import KernelSignature, clean, kernels
from labkit.source.line_map import LineMap
from labkit.source.scan import Block, Outline, mask

_DEVICE = re.compile(r"\b(?:__aicore__|__global__|__vector__|__cube__|__mix__)")
_HOST_HEADERS = (
    "algorithm array atomic bitset chrono cmath condition_variable deque fstream functional future iomanip iostream "
    "list map memory mutex numeric ostream queue random set sstream stack string string_view thread "
    "unordered_map unordered_set vector"
).split()
_STL = re.compile(
    r"\bstd\s*::\s*(vector|string|map|set|unordered_map|unordered_set|list|deque|queue|stack|function|cout|cerr|endl"
    r"|unique_ptr|shared_ptr|make_unique|make_shared|thread|mutex|sort|copy|fill|accumulate|transform|for_each)\b"
)
_ATOMIC = re.compile(r"\bstd\s*::\s*(atomic\w*)")
_HEAP = re.compile(r"(?<![\w.>])(malloc|calloc|realloc|free)\s*\(|(?<![\w.])(new|delete)\b(?!\s*;)")
_RUNTIME = re.compile(r"\b(virtual|dynamic_cast|typeid|throw|try)\b")


def lint(text: str, filename: str = "<kernel>") -> list[dict]:
    """All findings, by line. Never raises: a text that is no kernel has none."""
    text = clean(text)
    outline = Outline(text)
    try:
        found_kernels = [k for k in kernels(text, filename) if "0" not in k.guard]
    except CompileError:
        return []
    run = _Lint(outline, found_kernels, filename)
    run.all()
    return sorted(run.found, key=lambda p: (p["line"], p["column"]))


class _Lint:
    def __init__(self, outline: Outline, found: list[KernelSignature], filename: str) -> None:
        self.outline, self.kernels, self.map = outline, found, LineMap(outline.text, filename)
        self.found: list[dict] = []
        self.functions = [b for b in outline.blocks if b.kind == "function"]
        self.device = [b for b in self.functions if _DEVICE.search(self._head(b))]

    def _head(self, block: Block) -> str:
        return self.outline.masked[block.head : block.open]

    def _say(self, code: str, offset: int, **numbers) -> None:
        lines = self.outline.lines
        what, hint = messages.say(f"lint.{code}", **numbers)
        file, line = self.map.logical(lines.line(offset))
        self.found.append(
            dict(
                file=file,
                line=line,
                column=lines.column(offset),
                message=what,
                hint=hint,
                code=code,
                severity="warning",
            )
        )

    def _in_device(self, pattern: re.Pattern) -> Iterator[re.Match]:
        for block in self.device:
            yield from pattern.finditer(self.outline.masked, block.open, block.close)

    def all(self) -> None:
        self._library()
        self._recursion()
        self._pragmas()
        self._helpers()
        self._gm_pointers()
        self._signatures()
        self._calls()

    def _library(self) -> None:
        helpers = self._unmarked()
        host = [b for b in self.functions if b not in self.device and b not in helpers]
        plain = mask(self.outline.text, directives=False)
        for m in re.finditer(r"^[ \t]*#[ \t]*include[ \t]*<(\w+)>", plain, re.M):
            if m[1] in _HOST_HEADERS and not host:
                self._say("stl_include", m.start(), name=m[1])
        for m in self._in_device(_STL):
            self._say("stl", m.start(), name=f"std::{m[1]}")
        for m in self._in_device(_ATOMIC):
            self._say("atomic", m.start(), name=f"std::{m[1]}")
        for m in self._in_device(_HEAP):
            self._say("heap", m.start(), name=m[1] or m[2])
        for m in self._in_device(_RUNTIME):
            self._say("runtime", m.start(), name=m[1])
        for block in self._device_types():
            for m in re.finditer(r"\bvirtual\b", self.outline.masked[block.open : block.close]):
                self._say("runtime", block.open + m.start(), name="virtual")

    def _device_types(self) -> list[Block]:
        return [b for b in self.outline.blocks if b.kind == "type" and any(d.parent is b for d in self.device)]

    def _recursion(self) -> None:
        for block in self.device:
            if block.name and (
                m := re.compile(rf"(?<![\w.:>~]){re.escape(block.name)}\s*\(").search(
                    self.outline.masked, block.open, block.close
                )
            ):
                # not a constructor
                if not (block.parent and block.parent.kind == "type" and block.parent.name == block.name):
                    self._say("recursion", m.start(), name=block.name)

    def _pragmas(self) -> None:
        for m in re.finditer(r"^[ \t]*#[ \t]*pragma[ \t]+omp\b", mask(self.outline.text, directives=False), re.M):
            if any(b.open < m.start() < b.close for b in self.device):
                self._say("omp", m.start())

    def _helpers(self) -> None:
        for block in self._unmarked():
            at = block.head + max(0, self._head(block).find(block.name))
            self._say("no_aicore", at, name=block.name)

    def _unmarked(self) -> list[Block]:
        """Functions, methods and constructors that device code uses and that carry no mark."""
        plain = [
            b
            for b in self.functions
            if b not in self.device
            and b.name
            and not b.name.startswith(("operator", "~"))
            and "constexpr" not in self._head(b)
        ]
        types = self._device_types()
        found = []
        for block in plain:
            method = block.parent in types
            if method and block.name == block.parent.name:
                found.append(block)
                continue
            before = r"(?:\.|->|(?<![\w.~]))" if method else r"(?<![\w.~>])"
            called = re.compile(rf"{before}\s*{re.escape(block.name)}\s*(?:<[^<>;]*>\s*)?\(")
            free = block.parent is None or block.parent.kind in ("namespace", "linkage")
            if (method or free) and any(self._in_device(called)):
                found.append(block)
        return found

    def _gm_pointers(self) -> None:
        for block in self.device:
            head = self._head(block)
            for m in re.finditer(r"(?:\bGM_ADDR|__gm__[\w\s:<>]*\*)\s*(?:__restrict__\s*)?(\w+)\s*(?=[,)=])", head):
                name = re.escape(m[1])
                use = re.compile(
                    rf"(?<![\w.>]){name}\s*\[|(?:[=(,;{{}}+\-/&|!<>?:]|\breturn)\s*(\*)\s*{name}\b(?!\s*[(*])"
                )
                if used := use.search(self.outline.masked, block.open, block.close):
                    self._say("gm_deref", used.start(1) if used[1] else used.start(), name=m[1])

    def _signatures(self) -> None:
        starts = [m.start() for m in re.finditer(r"\b__global__\b", self.outline.masked)]
        for kernel in self.kernels:
            at = next((s for s in starts if self.outline.lines.line(s) == kernel.line), 0)
            for param in kernel.params:
                if param.kind == "gm" and not re.search(r"\b(?:__gm__|GM_ADDR)\b", param.type):
                    self._say("plain_pointer", at, name=kernel.name, param=param.name)
            if len({k.qualified for k in self.kernels}) > 1 and not {"__vector__", "__cube__", "__mix__"} & set(
                kernel.qualifiers
            ):
                self._say("unmarked", at, name=kernel.name, count=len({k.qualified for k in self.kernels}))

    def _calls(self) -> None:
        for name in {k.name for k in self.kernels}:
            for m in re.finditer(rf"(?<![\w.>]){re.escape(name)}\s*(?:<[^<>;]*>\s*)?\(", self.outline.masked):
                inside = self.outline.around(m.start())
                if inside is None or not any(b.kind == "function" for b in inside.chain()):
                    continue  # its own declaration
                if any(b in self.device for b in inside.chain()):
                    continue  # recursion is a finding of its own
                self._say("kernel_call", m.start(), name=name)
