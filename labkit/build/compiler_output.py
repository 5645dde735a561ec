"""What g++, clang and bisheng print, as data: each error with its notes and the chain of places that leads to it.

The two families give the same facts in different order. g++ prints the chain of instantiations before the error
("In instantiation of ...", "required from here") and only when it changes; clang prints it after, as notes
("in instantiation of ... requested here"). Here both become `frames`, from the error outwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Frame:
    """A place in the chain that leads to an error: an instantiation, a macro's use, an include."""

    file: str
    line: int
    column: int
    text: str = ""


@dataclass
class Diagnostic:
    """severity: "error" or "warning"; message without the option in brackets; line 0: no place known."""

    severity: str
    file: str
    line: int
    column: int
    message: str
    frames: list[Frame] = field(default_factory=list)
    notes: list[Frame] = field(default_factory=list)


_PLACE = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:(?P<column>\d+):)?\s+(?P<rest>.*)$")
_SEVERITY = re.compile(
    r"(?:fatal )?(?P<severity>error|warning|note): (?P<message>.*)$|(?:sorry, )?"
    r"(?P<given_up>(?:unimplemented|internal compiler error): .*)$"
)
_CONTEXT = re.compile(r"^(?P<file>[^\s:][^:\n]*): (?:In |At )[^\n]*:$")
_INCLUDED = re.compile(
    r"^(?:In file included)?\s+?from (?P<file>[^:\n]+):(?P<line>\d+)"
    r"|^In file included from (?P<file2>[^:\n]+):(?P<line2>\d+)"
)
_CHAIN = re.compile(r"(?:recursively )?required (?:from|by)|in .constexpr. expansion of")
_CLANG_CHAIN = re.compile(r"in (?:evaluation|instantiation) of|while substituting|while instantiating|in call to")
_MACRO = re.compile(r"in expansion of macro|expanded from macro|in definition of macro")
_OPTION = re.compile(r" \[-(?:W|f)[\w+=,#-]+\]$")
_TOOL = re.compile(
    r"^(?:[\w./+-]*/)?(?:[\w.-]+-)?"  # the folder; what it compiles for, as in x86_64-conda-linux-gnu-c++
    r"(?:g\+\+|c\+\+|clang[\w+-]*|cc1plus|collect2|ld(?:\.\w+)?|bisheng|ld\.lld)[\w.+-]*: "
    r"(?:(?P<warning>warning: )|(?:fatal )?(?:error: )?)"
    r"(?P<message>.*(?:error|Killed|fatal|cannot|undefined|signal|No such).*)$"
)
_UNDEFINED = re.compile(r"undefined reference to [`'](?P<name>.+)'$|undefined symbol: (?P<name2>.+)$")


_UNIVERSAL = re.compile(r"\\(?:U([0-9a-f]{8})|u([0-9a-f]{4}))")  # how g++ writes a letter beyond ASCII in a name


def _letter(m: re.Match) -> str:
    code = int(m[1] or m[2], 16)
    return chr(code) if 0x80 <= code < 0x110000 and not 0xD800 <= code < 0xE000 else m[0]


def read(stderr: str) -> list[Diagnostic]:
    """Every error and warning of a compiler's output, in its order."""
    reader = _Reader()
    for line in stderr.replace("\u2018", "'").replace("\u2019", "'").splitlines():
        reader.take(_UNIVERSAL.sub(_letter, line))
    return reader.found


class _Reader:
    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self._chain: list[Frame] = []  # g++: in force until the next context line
        self._includes: dict[str, Frame] = {}  # file -> where it is included
        self._pending: list[Frame] = []  # include lines whose subject is named by the next line

    def take(self, line: str) -> None:
        if m := _INCLUDED.match(line):
            frame = Frame(m["file"] or m["file2"], int(m["line"] or m["line2"]), 0, "included here")
            # clang repeats "In file included" from the outermost in; g++ continues with "from", outwards
            self._pending = [frame, *self._pending] if line.startswith("In") else [*self._pending, frame]
            return
        if m := _CONTEXT.match(line):
            self._settle(m["file"])
            self._chain = []
            return
        if m := _PLACE.match(line):
            self._settle(m["file"])
            self._place(m)
        elif (m := _TOOL.match(line)) and not re.search(r"ld returned \d+ exit|returned \d+ exit status", line):
            severity = "warning" if m["warning"] else "error"
            self.found.append(Diagnostic(severity, "", 0, 0, self._linker(m["message"]) or m["message"]))
        elif message := self._linker(line):
            self.found.append(Diagnostic("error", "", 0, 0, message))

    def _settle(self, file: str) -> None:
        inner = file
        for frame in self._pending:
            self._includes.setdefault(inner, frame)
            inner = frame.file
        self._pending = []

    def _place(self, m: re.Match) -> None:
        file, line, column, rest = m["file"], int(m["line"]), int(m["column"] or 0), m["rest"].strip()
        said = _SEVERITY.match(rest)
        if said is None:
            if _CHAIN.match(rest):
                self._chain.append(Frame(file, line, column, rest))
            elif message := self._linker(rest):
                self.found.append(Diagnostic("error", file, line, column, message))
            return
        message = _OPTION.sub("", said["message"] or said["given_up"])
        if said["severity"] == "note":
            self._note(Frame(file, line, column, message.strip()))
        else:
            one = Diagnostic(
                "error" if said["given_up"] else said["severity"], file, line, column, message, [*self._chain]
            )
            one.frames += self._way_in(file)
            self.found.append(one)

    def _note(self, note: Frame) -> None:
        if not self.found:
            return
        last = self.found[-1]
        if _MACRO.match(note.text) and not last.notes:  # after another note it belongs to that note
            last.frames.insert(
                sum(f.text.startswith("macro ") for f in last.frames),
                Frame(note.file, note.line, note.column, f"macro {note.text}"),
            )
        elif _CLANG_CHAIN.match(note.text):
            way_in = len(self._way_in(last.file))
            last.frames.insert(len(last.frames) - way_in, note)
        elif not _MACRO.match(note.text):
            last.notes.append(note)

    def _way_in(self, file: str) -> list[Frame]:
        frames: list[Frame] = []
        while file in self._includes and len(frames) < 32:
            frames.append(self._includes[file])
            file = frames[-1].file
        return frames

    @staticmethod
    def _linker(line: str) -> str:
        m = _UNDEFINED.search(line)
        return f"undefined reference to '{m['name'] or m['name2']}'" if m else ""
