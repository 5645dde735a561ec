"""What a worker said, as the objects that the judge knows: exceptions, compile errors, findings, records."""

from __future__ import annotations

import builtins
from pathlib import Path
from types import SimpleNamespace

from labkit.camp import wire
from labkit.exercises.timing import COUNTED
from labkit.launch.record import Finding, LaunchRecord
from labkit.source.errors import CompileError, SourceError


class RemoteError(Exception):
    """An exception that the submission raised. kind: its type's name; frames: (file, line) from the outside in."""

    kind, frames = "", []


def exception_of(kind: str, message: str, frames: list) -> RemoteError:
    """Also of Python's own type of that name, which golden.py's `run` may expect."""
    known = getattr(builtins, kind, None) if kind.isidentifier() else None
    bases = (RemoteError,)
    if isinstance(known, type) and issubclass(known, Exception) and known.__init__ is not UnicodeDecodeError.__init__:
        bases = (RemoteError, known)
    error = type(kind if kind.isidentifier() else "RemoteError", bases, {})(message)
    error.kind, error.frames = kind, frames
    return error


def frames_of(answer: dict) -> list[tuple[str, int]]:
    return [(str(file), int(line)) for file, line in answer.get("frames", [])]


def compile_error_of(told: dict, name: str, text: str) -> CompileError:
    """Built of what the worker says. No file is looked into for it: which one, the submission could choose."""
    problems = []
    for p in list(told.get("problems") or [])[:40]:
        file = str(p.get("file") or "")
        near = (
            file
            if file == name or file.startswith(("given part of ", "exercise "))
            else f"{Path(file).name or '?'} ..."
        )
        problems.append({"file": near, "line": int(p.get("line") or 0), "column": int(p.get("column") or 0),
                         "message": str(p.get("message") or "")[:2000],
                         "hint": p.get("hint") and str(p["hint"])[:2000]})  # fmt: skip
    made = SourceError.__new__(SourceError) if told.get("line") else CompileError.__new__(CompileError)
    CompileError.__init__(made, problems, stderr=str(told.get("text", ""))[:4000], text=text, filename=name)
    if told.get("line"):
        made.line, made.key = int(told["line"]), ""
    return made


def finding_of(f: dict) -> Finding:
    return Finding(str(f["code"]), str(f["severity"]), int(f["block"]), str(f["file"]), int(f["line"]),
                   dict(f["numbers"]), int(f["count"]), bool(f.get("skipped")))  # fmt: skip


def record_of(told: dict) -> LaunchRecord:
    words = {n: told[n] for n in ("target", "kernel", "blocks", "time_us", "time_kind", "chip", "ub_used", "ub_size")}
    made = LaunchRecord(**words, output=str(told["output"]), finished=bool(told["finished"]), crashed=told["crashed"])
    made.findings = [finding_of(f) for f in told["findings"]]
    made.core_us, made.busy = float(told["core_us"]), {str(k): float(v) for k, v in dict(told["busy"]).items()}
    made.cores = [
        {"block": int(core["block"]), "core": int(core["core"])} | {name: float(core[name]) for name in COUNTED}
        for core in told["cores"]
    ]
    made.again = SimpleNamespace(request=SimpleNamespace(schedule=told["schedule"]))
    if made.target != "twin" or type(made.time_us) not in (int, float) or not made.time_us >= 0:
        raise wire.Broken("no record of the twin")
    return made
