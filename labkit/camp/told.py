"""What a worker says of exceptions, findings and launches: plain data, no longer than it need be."""

from __future__ import annotations

import traceback

from labkit.exercises.timing import COUNTED

MOST_CORES = 4096
DATA = (str, int, float, bool, type(None))


def raised(error: BaseException) -> dict:
    """An exception by its name, words and places."""
    frames = getattr(error, "frames", None) or [
        (f.filename, f.lineno or 0) for f in traceback.extract_tb(error.__traceback__)
    ]
    try:
        message = str(error)[:4000]
    except Exception:  # a learner's own class, whose __str__ fails
        message = ""
    return {
        "raised": str(getattr(error, "kind", type(error).__name__))[:200],
        "message": message,
        "frames": [(str(f)[:200], int(n)) for f, n in list(frames)[-50:]],
    }


def plain(numbers: dict) -> dict:
    return {str(k): v if isinstance(v, DATA) else str(v)[:500] for k, v in numbers.items()}


def finding(f) -> dict:
    return {"code": f.code, "severity": f.severity, "block": f.block, "file": f.file, "line": f.line,
            "numbers": plain(f.numbers), "count": f.count, "skipped": f.skipped}  # fmt: skip


def record(made) -> dict | None:
    """What a judge looks at of a launch's record."""
    if made is None:
        return None
    again = getattr(getattr(made.again, "request", None), "schedule", "")
    names = ("target", "kernel", "blocks", "time_us", "time_kind", "chip", "ub_used", "ub_size", "finished", "crashed")
    return {n: getattr(made, n) for n in names} | {
        "output": made.output[:20_000],
        "schedule": again,
        "findings": [finding(f) for f in made.findings[:200]],
        "core_us": made.core_us,
        "busy": dict(made.busy),
        "cores": [{name: core[name] for name in ("block", "core", *COUNTED)} for core in made.cores[:MOST_CORES]],
    }
