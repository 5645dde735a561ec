"""What a check says: one object with four states, shown as text, HTML and JSON.

TODO is for the unchanged stub alone; SKIP says why and is never PASS; every result names the target it was
checked on. Interactive use never raises; LABKIT_STRICT=1 turns FAIL and TODO into CheckFailed, which
prints the lesson, not a traceback.
"""

from __future__ import annotations

import html
import os
from dataclasses import dataclass, field
from typing import Any

from labkit import messages
from labkit.exercises.layout import MismatchMap

STATES = ("TODO", "PASS", "FAIL", "SKIP")
MIME = "application/vnd.labkit.result+json"
CODE = "font-family:var(--jp-code-font-family,monospace)"  # JupyterLab sets an output's <pre> in the font of its text
_SIGN = {"TODO": "…", "PASS": "✓", "FAIL": "✗", "SKIP": "–"}  # never colour alone


def plain_only() -> bool:
    """LABKIT_PLAIN=1: text alone, for screen readers and logs."""
    return os.environ.get("LABKIT_PLAIN", "") not in ("", "0")


def bundle(plain: str, html_text: str) -> dict:
    """What IPython shows: text, and HTML where it is wanted."""
    return {"text/plain": plain} if plain_only() else {"text/plain": plain, "text/html": html_text}


def told_place(where: str) -> str:
    """`where` in the language in force: "exercise id:3" and "given part of id:7" are also keys, and stay English."""
    for kind in ("given", "exercise"):
        begin = messages.text(f"exercise.place-{kind}", lang="en")
        if where.startswith(begin):
            return messages.text(f"exercise.place-{kind}") + where[len(begin) :]
    return where


@dataclass
class Result:
    """lines: [what, why, try] of a FAIL, else what there is to say. where: "exercise id:line" of a finding or error.

    checked_on: target, chip and kind of time in one line; case: the case that is shown; time_us: of the timed case.
    why: under PASS, what the exercise was about. notes: further lines (other failing cases, warnings). next: what to do
    now. map: core x tile map of the mismatch.
    """

    exercise: str
    state: str
    title: str = ""
    target: str = ""
    chip: str = ""
    time_kind: str = ""
    checked_on: str = ""
    lines: list[str] = field(default_factory=list)
    where: str = ""
    source_line: str = ""
    case: str = ""
    cases: int = 0
    failed: int = 0
    diagnosis: str = ""
    numbers: dict = field(default_factory=dict)
    map: MismatchMap | None = None
    record: Any = None
    time_us: float | None = None
    notes: list[str] = field(default_factory=list)
    why: str = ""
    next: list[str] = field(default_factory=list)
    seconds: float = 0.0
    hint_level: int = 0

    @property
    def passed(self) -> bool:
        return self.state == "PASS"

    def _head(self) -> str:
        word = messages.text(f"exercise.state-{self.state}")
        # "mutant" is an internal key: an answer that the spec foresees
        key = f"  [{self.diagnosis}]" if self.diagnosis and self.diagnosis != "mutant" else ""
        return f"{_SIGN[self.state]} {word}  {self.exercise}" + (f": {self.title}" if self.title else "") + key

    def _labelled(self) -> list[tuple[str, str]]:
        """(label's key or "", line) of each line."""
        parts = {3: messages.PARTS, 2: ("what", "seen")}.get(len(self.lines)) if self.state == "FAIL" else None
        return list(zip([f"exercise.{part}" for part in parts] if parts else [""] * len(self.lines), self.lines))

    def __str__(self) -> str:
        out = [self._head()]
        if self.checked_on:
            out.append(f"  {self.checked_on}")
        if self.where:
            out.append(
                f"  {told_place(self.where)}" + (f"  {self.source_line.strip()}" if self.source_line.strip() else "")
            )
        out += ["  " + (messages.after(label, line) if label else line) for label, line in self._labelled()]
        if self.map is not None:
            out += ["  " + messages.text("exercise.map-legend"), *(f"  {row}" for row in self.map.text())]
        why = [messages.after("exercise.why-title", self.why)] if self.why else []
        return "\n".join(out + [f"  {line}" for line in (*why, *self.notes, *self.next)])

    __repr__ = __str__

    def _html(self) -> str:
        def small(text: str) -> str:
            return f"<div style='opacity:.75;font-size:90%'>{html.escape(text)}</div>"

        parts = [f"<div><b>{html.escape(self._head())}</b></div>"]
        if self.checked_on:
            parts.append(small(self.checked_on))
        if self.where:
            parts.append(
                f"<pre style='margin:.3em 0;{CODE}'>{html.escape(told_place(self.where))}  "
                f"{html.escape(self.source_line.strip())}</pre>"
            )
        for label, line in self._labelled():
            bold = f"<b>{html.escape(messages.text(label))}</b> " if label else ""
            parts.append(f"<div>{bold}{html.escape(line)}</div>")
        if self.map is not None:
            parts.append(_map_html(self.map))
        if self.why:
            title = html.escape(messages.text("exercise.why-title"))
            parts.append(f"<details><summary>{title}</summary>{html.escape(self.why)}</details>")
        parts += [small(line) for line in (*self.notes, *self.next)]
        style = "border-left:3px solid currentColor;padding:.2em .8em"
        return f"<div class='labkit-result' data-state='{self.state}' style='{style}'>{''.join(parts)}</div>"

    def as_json(self) -> dict:
        """For reports: no record, no text that changes with the language except `lines`."""
        names = (
            "exercise",
            "state",
            "target",
            "chip",
            "time_kind",
            "diagnosis",
            "where",
            "case",
            "cases",
            "failed",
            "time_us",
            "hint_level",
            "lines",
        )
        return {name: getattr(self, name) for name in names} | {
            "seconds": round(self.seconds, 2),
            "map": self.map.as_json() if self.map else None,
        }

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return bundle(str(self), "" if plain_only() else self._html()) | {MIME: self.as_json()}


def _map_html(map: MismatchMap) -> str:
    figure = map.figure()
    if figure is not None:
        return figure.svg
    return (
        f"<pre style='margin:.3em 0;line-height:1.2;{CODE}'>{html.escape(messages.text('exercise.map-legend'))}\n"
        + html.escape("\n".join(map.text()))
        + "</pre>"
    )


class CheckFailed(AssertionError):
    """A check that did not pass under LABKIT_STRICT=1. `.result` has the rest."""

    def __init__(self, result: Result):
        self.result = result
        super().__init__(str(result))

    def _render_traceback_(self) -> list[str]:
        return [str(self.result)]


@dataclass
class Shown:
    """Text and HTML of something to read: a hint, given code, a comparison."""

    plain: str
    html: str = ""

    def __str__(self) -> str:
        return self.plain

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return bundle(self.plain, self.html or f"<pre style='{CODE}'>{html.escape(self.plain)}</pre>")
