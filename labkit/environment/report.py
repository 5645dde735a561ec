"""What the doctor found, as data and as text: `Check` is one line, `Report` all of them in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from labkit import messages

STATES = ("PASS", "WARN", "FAIL", "SKIP")


@dataclass(frozen=True)
class Check:
    """One line. id is stable; mend holds shell commands or settings, in the order to try them."""

    id: str
    state: str
    message: str
    mend: tuple[str, ...] = ()

    def __post_init__(self):
        if self.state not in STATES:
            raise ValueError(f"{self.id}: state {self.state!r} is none of {STATES}")


def check(id: str, state: str, key: str, mend: str | tuple[str, ...] = (), **numbers) -> Check:
    """A `Check` whose sentence is the entry `doctor.<key>` of the message table."""
    return Check(
        id, state, messages.text(f"doctor.{key}", **numbers), (mend,) if isinstance(mend, str) else tuple(mend)
    )


@dataclass(frozen=True)
class Report:
    """All checks. `ok` is False when one of them is FAIL: the lab can not do its work here."""

    checks: tuple[Check, ...]
    target: str  # "twin" | "npu"
    counts: dict[str, int] = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "counts", {s: sum(c.state == s for c in self.checks) for s in STATES})

    @property
    def ok(self) -> bool:
        return not self.counts["FAIL"]

    def __getitem__(self, id: str) -> Check:
        """The check called `id`. Raises KeyError."""
        for c in self.checks:
            if c.id == id:
                return c
        raise KeyError(id)

    def summary(self) -> str:
        counted = ", ".join(f"{self.counts[state]} {state}" for state in STATES if self.counts[state])
        return messages.text("doctor.summary", counted=counted, target=self.target)

    def lines(self) -> list[tuple[str, str]]:
        """(state, text) line by line; the state is "" on the lines that say how to repair it."""
        width = max(len(c.id) for c in self.checks) + 2
        indent, found = " " * (width + 6), []
        for c in self.checks:
            first, *rest = c.message.split("\n")
            found.append((c.state, f"{c.id:<{width}}{first}"))
            found += [("", f"{indent}{line}") for line in rest]
            found += [("", f"{indent}{messages.text('doctor.mend')} {command}") for command in c.mend]
        return found

    def __str__(self) -> str:
        shown = [f"{state:<6}{line}" if state else line for state, line in self.lines()]
        return "\n".join([*shown, "", self.summary()])

    __repr__ = __str__

    def json(self) -> dict:
        return {
            "ok": self.ok,
            "target": self.target,
            "counts": self.counts,
            "checks": [{"id": c.id, "state": c.state, "message": c.message, "mend": list(c.mend)} for c in self.checks],
        }

    def html(self) -> str:
        """A table that relies on words, not on colours, and inherits the page's own."""
        cell = '<td style="text-align:left;vertical-align:top">'
        rows = []
        for c in self.checks:
            word = escape(messages.text("doctor.mend"))
            mend = "".join(f"<br>{word} <code>{escape(command)}</code>" for command in c.mend)
            message = escape(c.message).replace("\n", "<br>")
            rows.append(f"<tr>{cell}<b>{c.state}</b></td>{cell}{c.id}</td>{cell}{message}{mend}</td></tr>")
        return f"<table>{''.join(rows)}</table><p>{escape(self.summary())}</p>"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/plain": str(self), "text/html": self.html(), "application/vnd.labkit.doctor+json": self.json()}
