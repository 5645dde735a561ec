"""A failed compilation, reported at lines that the learner can change.

    compile_error(stderr, filename="add.asc", text=lowered) -> CompileError

The compiler's errors are read (labkit.build.compiler_output), each is put at a line of the learner's own files, what
follows from another error is dropped, and each gets what to try (labkit.build.compile_hints). The place is the
learner's line nearest to the error: for an error inside a twin header that is the call the learner wrote, not the far
end of the chain where the kernel instantiates its class.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from labkit import messages, paths
from labkit.build import process
from labkit.build.compile_hints import ErrorContext, absent, advise, undeclared
from labkit.build.compiler_output import Diagnostic, Frame, read
from labkit.source.braces import unbalanced
from labkit.source.errors import ENTRY_FILE, CompileError
from labkit.source.line_map import LineMap, unlower
from labkit.source.scan import mask

__all__ = ["CompileError", "compile_error"]


# ---- from the compiler's output to problems


def compile_error(stderr: str, *, filename: str | None, text: str | None, command: Sequence[str] = ()) -> CompileError:
    """The CompileError of a compiler's stderr. filename and text: the learner's, None for the lab's own sources."""
    report = _ErrorReport(filename, text)
    # a quote left open is an error of its own for g++, for clang only a warning before a vague error
    errors = [d for d in read(stderr) if d.severity == "error" or d.message.startswith("missing terminating")]
    problems = report.problems(errors)
    if not problems:
        said = next((s for s in reversed(stderr.strip().split("\n")) if s.strip()), messages.text("build.silent"))
        what = hint = None
        if re.search(r"out of memory|memory exhausted|bad_alloc", stderr):
            gib = process.MOST_KIB >> 20
            what, hint = messages.text("build.memory.what", gib=gib), messages.text("build.memory.try")
        problems = [_problem(filename or "", 0, 0, what or said.strip(), hint, raw=said)]
    return CompileError(problems, stderr=stderr, command=command, text=text, filename=filename)


def _problem(file: str, line: int, column: int, message: str, hint: str | None, raw: str = "", via=()) -> dict:
    return dict(file=file, line=line, column=column, message=message, hint=hint, raw=raw or message, via=list(via))


# Headers of compilers and of packages: an environment may stand in the learner's own folder, as ./.venv does.
_OTHERS = re.compile(r"/include/c\+\+/|/lib/gcc/|/lib/clang/|/(?:site|dist)-packages/")


class _ErrorReport:
    """One failed compilation of one learner's text (or of the lab's own sources, filename None)."""

    def __init__(self, filename: str | None, text: str | None) -> None:
        self.filename = filename
        # without the lab's own part behind it, which a learner never sees
        self.map = LineMap((text or "").partition(f'\n#line 1 "{ENTRY_FILE}"')[0], filename or "")
        self.code = mask("\n".join(self.map.lines)).split("\n")
        lines = [unlower(line)[0] for line in self.map.lines]
        words = frozenset(re.findall(r"[A-Za-z_]\w{2,}", "\n".join(lines)))
        kernels = re.findall(r"__global__[^;{(]*?(?:\([^)]*\)[^;{(]*?)?\bvoid\s+(\w+)\s*\(", "\n".join(self.code))
        self.context = ErrorContext(lines, words, tuple(kernels))

    def problems(self, errors: list[Diagnostic]) -> list[dict]:
        if braces := self._braces(errors):
            return [braces]  # everything else the compiler says follows from it
        if absent := self._absent(errors):
            return absent
        places = [self._place(error) for error in errors]
        moved = {(e.file, e.line) for e, p in zip(errors, places) if e.file == p.file and e.line > p.line}
        kept: list[tuple[int, dict]] = []
        lost: set[str] = set()  # names that are missing only because the line that declares them failed
        taken: set[tuple[str, int]] = set()
        for error, place in zip(errors, places):
            where = (place.file, place.line)
            if where in taken or where in moved or self._consequence(error, lost):
                continue  # one line, one problem: what follows on the same line follows from the first
            taken.add(where)
            lost |= self._declared_on(place)
            kept.append((self._rank(place, error), self._problem(error, place)))
        if any(rank == 0 for rank, _ in kept):
            # the lab's own trampolines fail only because of the learner's text
            kept = [one for one in kept if one[0] < 2]
        return [problem for _, problem in sorted(kept, key=lambda one: one[0])]

    def _absent(self, errors: list[Diagnostic]) -> list[dict]:
        """One line for each API that the twin lacks, where it is first used."""
        found: dict[str, dict] = {}
        for error in errors:
            if lacking := absent(error):
                name, (what, hint) = lacking
                place = self._place(error)
                found.setdefault(
                    name, _problem(place.file, place.line, self._column(place), what or "", hint, raw=error.message)
                )
        return list(found.values())

    # -- where

    def own(self, file: str) -> bool:
        """Whether the learner can edit this file: the text itself, or a file of theirs that it includes."""
        if self.filename is None or file == self.filename or file in self.map.files:
            return True
        path, home = Path(file), Path(self.filename).resolve().parent
        if not path.is_absolute():
            return path.exists()
        inside = path.is_relative_to(home) and home != Path("/")
        return inside and not path.is_relative_to(paths.twin_dir()) and not _OTHERS.search(file)

    def _place(self, error: Diagnostic) -> Frame:
        here = Frame(error.file, error.line, error.column)
        if error.file == ENTRY_FILE:
            note = next((n for n in error.notes if self.own(n.file)), None)
            return note or here
        found = next((f for f in [here, *error.frames] if self.own(f.file)), here)
        return self._semicolon(error, found)

    def _semicolon(self, error: Diagnostic, place: Frame) -> Frame:
        """A missing `;` is noticed at the next word; it belongs behind the code before it."""
        number = self.map.physical(place.file, place.line)
        if not number or not re.match(r"expected '?[;,].* (?:before|at end)", error.message):
            return place
        if " before" in error.message:
            before = self.map.lines[number - 1].encode()[: place.column - 1].decode(errors="replace")
            if self.code[number - 1][: len(before)].strip() not in ("", "extern"):  # comments are blank there
                return place  # the next word is on the same line
            number -= 1
            while number > 0 and not self.code[number - 1].strip():
                number -= 1
        if not number:
            return place
        return Frame(*self.map.logical(number), len(self.map.lines[number - 1].encode()[: self._end(number)]) + 1)

    def _end(self, number: int) -> int:
        """Bytes of a line up to the end of its code."""
        return len(self.map.lines[number - 1][: len(self.code[number - 1].rstrip())].encode())

    def _column(self, place: Frame) -> int:
        """Characters of the learner's line, from the compiler's bytes of the lowered one."""
        number = self.map.physical(place.file, place.line)
        if not number or place.column <= 0:
            return max(0, place.column)
        line = self.map.lines[number - 1]
        column = len(line.encode()[: place.column - 1].decode(errors="replace")) + 1
        while column > 1 and line[column - 1 : column] == "(" and re.match(r"\w", line[column - 2]):
            column -= len(
                re.search(r"\w+$", line[: column - 1])[0]
            )  # g++ points at the bracket of a call, not its name
        return unlower(line, column)[1]

    # -- what

    def _problem(self, error: Diagnostic, place: Frame) -> dict:
        what, hint = advise(error, self.context)
        via = [
            f.line for f in error.frames if f.file == place.file and f.line != place.line and "included" not in f.text
        ]
        return _problem(
            place.file,
            place.line,
            self._column(place),
            what or error.message,
            hint,
            raw=error.message,
            via=dict.fromkeys(via),
        )

    def _rank(self, place: Frame, error: Diagnostic) -> int:
        if place.file == ENTRY_FILE:
            return 2
        inside = self.own(place.file) and (place.file, place.line) not in {
            (f.file, f.line) for f in error.frames if "included" in f.text
        }
        return 0 if inside else 1

    def _declared_on(self, place: Frame) -> set[str]:
        number = self.map.physical(place.file, place.line)
        code = self.code[number - 1] if number else ""
        return set(re.findall(r"[\w>*&]\s+[*&]?\s*([A-Za-z_]\w*)\s*(?=[=;({,\[]|$)", code))

    @staticmethod
    def _consequence(error: Diagnostic, lost: set[str]) -> bool:
        return undeclared(error.message) in lost or bool(
            re.search(r"template argument \d+ is invalid|<expression error>", error.message)
        )

    # -- brackets

    def _braces(self, errors: list[Diagnostic]) -> dict | None:
        """A `{` that is never closed, or a `}` too many: compilers report it far from where it is."""
        if self.filename is None or not errors:
            return None
        found = unbalanced("\n".join(self.context.lines))
        if found is None:
            return None
        file, line = self.map.logical(found[1])
        what, hint = messages.say(f"hint.brace_{found[0]}", line=line)
        return _problem(file, line, found[2], what or "", hint)
