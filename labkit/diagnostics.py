"""Compiler errors told in the learner's own lines. (First version: the parser follows.)"""
from __future__ import annotations

import re

_LINE = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:(?P<column>\d+):)? (?:fatal )?error: (?P<message>.*)$", re.M)


class CompileError(Exception):
    """A compilation failed. problems: list of dict(file, line, column, message, hint); stderr: what the compiler said."""

    def __init__(self, problems: list[dict], *, stderr: str = "", command=(), text: str | None = None,
                 filename: str | None = None):
        self.problems, self.stderr, self.command, self.text, self.filename = problems, stderr, list(command), text, filename
        super().__init__(str(problems[0]["message"]) if problems else stderr.strip()[:2000] or "the compiler failed")


def compile_error(stderr: str, *, filename: str | None, text: str | None, command=()) -> CompileError:
    problems = [dict(file=m["file"], line=int(m["line"]), column=int(m["column"] or 0), message=m["message"], hint=None)
                for m in _LINE.finditer(stderr)]
    return CompileError(problems, stderr=stderr, command=command, text=text, filename=filename)
