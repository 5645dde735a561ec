"""What can be wrong with a learner's text, at lines that the learner can change: CompileError and SourceError."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from labkit import messages, paths
from labkit.source.line_map import LineMap, unlower

ENTRY_FILE = "<labkit entry>"  # what the lab adds behind a learner's text


class CompileError(Exception):
    """A compilation failed.

    problems: list of dict(file, line, column, message, hint), the first useful one first; columns count characters
    from 1, 0 where unknown; raw: the compiler's own words, via: the learner's lines that led there.
    stderr: all that the compiler said; command: its words; text: what was compiled; filename: the learner's name of it.
    """

    def __init__(
        self,
        problems: list[dict],
        *,
        stderr: str = "",
        command: Iterable[str] = (),
        text: str | None = None,
        filename: str | None = None,
    ) -> None:
        self.problems, self.stderr, self.command = problems, stderr, list(command)
        self.text, self.filename = text, filename
        super().__init__("\n".join(self.render()))

    def __reduce__(self):  # it takes more than its message to make it anew: a pool of processes hands it on
        return _again, (type(self), self.args, self.__dict__)

    def render(self) -> list[str]:
        """The lines that a learner reads: headline, source line with caret, what to try, how many more."""
        if not self.problems:
            return [messages.text("build.headline_bare", message=self.stderr.strip()[-2000:])]
        first = self.problems[0]
        place = paths.display_path(first["file"]) if first["file"].startswith("/") else first["file"]
        key = "build.headline" if first["line"] else "build.headline_bare"
        out = [messages.text(key, file=place, line=first["line"], message=first["message"])]
        out += _snippet(self.source_line(first["file"], first["line"]), first["line"], first["column"])
        if first.get("via"):
            out.append(messages.text("build.via", lines=", ".join(map(str, first["via"]))))
        if first["hint"]:
            out.append(messages.text("build.try", hint=first["hint"]))
        more = self.problems[1:]
        if more:
            lines = list(dict.fromkeys(_line_of(p, first["file"]) for p in more if p["line"]))
            shown = ", ".join(lines[:6]) + (" ..." if len(lines) > 6 else "")
            out.append(messages.text("build.more" if lines else "build.more_bare", count=len(more), lines=shown))
        return out

    def source_line(self, file: str, line: int) -> str:
        """The learner's text of a line, "" when it is not known."""
        if self.text is not None and self.filename is not None:
            where = LineMap(self.text, self.filename)
            if number := where.physical(file, line):
                return unlower(where.lines[number - 1])[0]
        lines = _file_lines(file)
        return lines[line - 1] if 0 < line <= len(lines) else ""

    def _render_traceback_(self) -> list[str]:
        """IPython shows this in place of a traceback: a mistake in C++ is no Python stack."""
        return self.render()


def _again(kind: type[CompileError], args: tuple, state: dict) -> CompileError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def _line_of(problem: dict, file: str) -> str:
    name = "" if problem["file"] == file else f"{Path(problem['file']).name}:"
    return f"{name}{problem['line']}"


def _snippet(text: str, line: int, column: int) -> list[str]:
    if not text.strip():
        return []
    shown = text.expandtabs(4).rstrip()
    out = [f"{line:5} | {shown}"]
    if 0 < column <= len(text) + 1:
        before = text[: column - 1].expandtabs(4)
        # a CJK character takes two places on a terminal and in a notebook
        out.append("      | " + "".join("  " if ord(c) > 0x2E7F else " " for c in before) + "^")
    return out


def _file_lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace").split("\n")
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return []


class NoSuchFile(FileNotFoundError):
    """There is no source file of this name; the text says where it was looked for."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class SourceError(CompileError):
    """The text cannot be a kernel for a reason that is plain before any compiler runs.

    key: of the message; line: of `text` itself, while problems name the place as `#line` in the text has it.
    """

    def __init__(self, key: str, *, filename: str, line: int, text: str, **numbers) -> None:
        what, _, hint = messages.text(key, **numbers).partition("\n")
        file, shown = LineMap(text, filename).logical(line)
        problem = dict(file=file, line=shown, column=0, message=what, hint=hint or None)
        super().__init__([problem], text=text, filename=filename)
        self.line, self.key = line, key
