"""The learner's log: one JSON line an event, append-only; everything else is derived from it.

Two stores of progress drift apart, so there is one, and nothing is ever rewritten. Where: LABKIT_PROGRESS (a file, or
`off`), else .labkit/progress.jsonl beside the checkout, else the cache folder. Writing never fails a check.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from labkit import messages, paths
from labkit.exercises.order import in_order
from labkit.exercises.spec import folders, load, pick

OFF = ("off", "0", "none")
PAUSE_S = 1800  # between two events, from which on the learner was not at it


def log_path() -> Path | None:
    """The log's file, None when it is switched off."""
    named = os.environ.get("LABKIT_PROGRESS", "").strip()
    if named.lower() in OFF:
        return None
    if named:
        return Path(named).expanduser()
    home = paths.repo_root()
    base = home if os.access(home, os.W_OK) and not paths.installed() else paths.cache_dir()
    return base / ".labkit" / "progress.jsonl"


def code_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def record(event: str, exercise: str, **data) -> None:
    """Append one event (`check`, `hint`, `give-up`, `reset`).
    One write of one line, so that processes may share the file.
    """
    try:
        path = log_path()
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        line = (
            json.dumps(
                {"time": round(time.time(), 3), "event": event, "id": exercise, **data},
                ensure_ascii=False,
                sort_keys=True,
                default=str,
            )
            + "\n"
        )
        fd = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
        try:
            os.write(fd, line.encode())
        finally:
            os.close(fd)
    except (OSError, ValueError, TypeError):
        pass  # a full disk or a read-only home must not turn a right answer into an error


def events(path: Path | None = None) -> list[dict]:
    """All events in order of the file; lines that are not an event (a torn write) are left out."""
    path = path or log_path()
    found = []
    try:
        text = path.read_text(encoding="utf-8", errors="replace") if path else ""
    except OSError:
        return []
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and isinstance(event.get("id"), str) and isinstance(event.get("event"), str):
            found.append(event)
    return found


def last_hint(exercise: str) -> int:
    """Highest hint given since the last reset, so that a new process goes on where the last one stopped."""
    level = 0
    for event in events():
        if event["id"] == exercise and event["event"] in ("hint", "reset"):
            level = int(event.get("hint_level") or 0) if event["event"] == "hint" else 0
    return level


def ever_passed(exercise: str) -> bool:
    return exercise in passed_ones()


def passed_ones() -> set[str]:
    """Exercises that the log has a PASS of."""
    return {e["id"] for e in events() if e.get("state") == "PASS"}


def last_passed() -> str:
    """The exercise of the log's last PASS, "" before any: what comes next goes on from there, as PASS says it."""
    return next((e["id"] for e in reversed(events()) if e.get("state") == "PASS"), "")


@dataclass
class Row:
    """One exercise: state is "" (never tried), TODO, FAIL, SKIP or PASS (ever passed);
    gave_up: the solution was shown before.
    """

    exercise: str
    title: str = ""
    state: str = ""
    attempts: int = 0
    hints: int = 0
    gave_up: bool = False
    diagnosis: str = ""
    minutes: float = 0.0


@dataclass
class Progress:
    """The table. Exercises in the order of the notebooks, then ids that the log has and the checkout has not."""

    rows: list[Row] = field(default_factory=list)

    @property
    def passed(self) -> int:
        return sum(r.state == "PASS" for r in self.rows)

    def _cells(self) -> list[list[str]]:
        say = messages.text
        head = [say(f"progress.{name}") for name in ("exercise", "state", "attempts", "hints", "minutes", "last")]
        body = [
            [
                f"{r.exercise}  {r.title}".rstrip(),
                (r.state or "-") + (f" ({say('progress.gave-up')})" if r.gave_up else ""),
                str(r.attempts),
                str(r.hints),
                f"{r.minutes:.0f}" if r.attempts else "-",
                r.diagnosis if r.diagnosis not in ("", "mutant") else "-",
            ]
            for r in self.rows
        ]
        return [head, *body]

    def __str__(self) -> str:
        return "\n".join(
            [
                *messages.aligned(self._cells()),
                messages.text("progress.total", passed=self.passed, total=len(self.rows)),
            ]
        )

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        head, *body = self._cells()
        row = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(c)}</td>" for c in r) + "</tr>" for r in body
        )
        table = (
            "<table><thead><tr>"
            + "".join(f"<th style='text-align:left'>{html.escape(c)}</th>" for c in head)
            + f"</tr></thead><tbody>{row}</tbody></table>"
        )
        total = html.escape(messages.text("progress.total", passed=self.passed, total=len(self.rows)))
        return {"text/plain": str(self), "text/html": f"{table}<p>{total}</p>"}


def progress(path: Path | None = None, only: str | tuple[str, ...] = "") -> Progress:
    """What the log says about every exercise of the checkout whose id begins with `only` (or one of them)."""
    known = folders()
    rows = {name: Row(name, pick(load(name, known[name]).title)) for name in in_order() if name.startswith(only)}
    log = [e for e in events(path) if e["id"].startswith(only)]
    for name in sorted({e["id"] for e in log} - set(rows)):
        rows[name] = Row(name)
    for event in log:
        _count(rows[event["id"]], event)
    for row in rows.values():
        row.minutes = _minutes([e for e in log if e["id"] == row.exercise])
    return Progress(list(rows.values()))


def _count(row: Row, event: dict) -> None:
    if event["event"] == "hint":
        row.hints = max(row.hints, int(event.get("hint_level") or 0))
    elif event["event"] == "give-up":
        row.gave_up = row.gave_up or row.state != "PASS"
    elif event["event"] == "check":
        state = event.get("state", "")
        row.attempts += state in ("PASS", "FAIL")
        if row.state != "PASS":
            row.state = state
        row.diagnosis = (event.get("diagnosis") or "") if state == "FAIL" else "" if state == "PASS" else row.diagnosis


def _minutes(log: list[dict]) -> float:
    """Minutes from the first event to the first PASS (else the last event);
    pauses of more than 30 minutes count as none.
    """
    total, before = 0.0, None
    for event in log:
        now = event.get("time")
        if not isinstance(now, (int, float)):
            continue
        if before is not None and 0 <= now - before <= PAUSE_S:
            total += now - before
        before = now
        if event.get("state") == "PASS":
            break
    return total / 60
