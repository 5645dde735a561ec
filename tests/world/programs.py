"""Running a public sample or program with `labkit run`, and judging what it left."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from . import Outcome

LIMIT_S = 600
_BAD = re.compile(r"verification failed|test failed|\[failed\]|result error|precision.*fail", re.I)


def run(
    path: Path, *, settings: dict[str, str] | None = None, arguments: list[str] | None = None, timeout: float = 240
) -> Outcome:
    """The outcome of one `labkit run`."""
    words = [sys.executable, "-m", "labkit", "run", "--json", f"--timeout={timeout:g}"]
    words += [w for k, v in (settings or {}).items() for w in ("-D", f"{k}={v}")]
    env = {**os.environ, "LABKIT_LANG": "en"}
    try:
        done = subprocess.run(
            [*words, str(path), *(arguments or [])],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            env=env,
        )
    except subprocess.TimeoutExpired:
        return Outcome("built", f"not finished after {LIMIT_S} s")
    try:
        result = json.loads(done.stdout)
    except json.JSONDecodeError:
        return Outcome("failed", build_reason(done.stderr or done.stdout))
    return judge(result)


def judge(result: dict) -> Outcome:
    output = result["output"]
    errors = [f for f in result["findings"] if f["severity"] == "error"]
    warnings = [f for f in result["findings"] if f["severity"] != "error"]
    if not result["launches"] and not errors and result["status"]:
        at = output.find("labkit: ")
        return Outcome("failed", build_reason(output[at:] if at >= 0 else output))
    said = _BAD.search(output)
    if result["status"] == 0 and not errors and not said and not result["died"] and result["launches"]:
        return Outcome("verified", "; ".join(_finding(f) for f in warnings[:2]))
    if errors:
        also = "" if result["status"] or said else " (numbers right)"
        return Outcome("built", "; ".join(_finding(f) for f in errors[:2]) + also)
    if not result["launches"]:
        return Outcome("built", "no kernel was launched: " + _tail(output))
    return Outcome("built", f"status {result['status']}: " + _tail(output))


def build_reason(text: str) -> str:
    """One line of what kept something from being built."""
    m = re.search(r"labkit: (?:Compile error in \S*?([^/\s]+), line (\d+): )?(.*)", text)
    if m:
        place = f"{m[1]}:{m[2]}: " if m[1] else ""
        return (place + m[3])[:220]
    return _tail(text)


def _finding(f: dict) -> str:
    return f"[{f['code']}] line {f['line']}: {f['what']}"[:160]


def _tail(output: str) -> str:
    lines = [line.strip() for line in output.strip().split("\n") if line.strip()]
    telling = [
        line for line in lines if re.search(r"error|fail|No module|expected", line, re.I) and not line.startswith("$")
    ]
    return (telling[-1] if telling else lines[-1] if lines else "no output")[:160]
