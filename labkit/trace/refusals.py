"""What could not be read, and why: each with what it is, the usual reasons and what to try."""

from __future__ import annotations

from dataclasses import dataclass, field

from labkit import messages


@dataclass
class Problem:
    """Something that a file lacks or that is wrong with it; the rest of the trace could still be read."""

    code: str
    fields: dict = field(default_factory=dict)

    def lines(self, lang: str | None = None) -> list[str]:
        return messages.lines(f"trace.problem.{self.code}", lang=lang, **self.fields)

    def json(self) -> dict:
        return {"code": self.code, "text": self.lines()}

    def __str__(self) -> str:
        return " ".join(self.lines())


class TraceError(ValueError):
    """Nothing can be said of this path. `code` and `problem` name the reason."""

    def __init__(self, code: str, **fields):
        self.problem = Problem(code, {k: str(v) for k, v in fields.items()})
        self.code = code
        super().__init__("\n".join(self.problem.lines()))


def why_no_kernels(trace) -> Problem:
    """The likeliest reason that a trace has no kernels, from what it does have."""
    common = trace.settings.get("config", {}).get("common_config", {})
    activities = [str(a) for a in common.get("activities", [])]
    level = trace.level.lower()
    if activities and not any("NPU" in a for a in activities):
        return Problem("cpu_only", {"activities": ", ".join(activities)})
    if level in ("level_none", "none"):
        return Problem("level_none", {"level": trace.level})
    if trace.host.height == 0 and trace.calls.height == 0:
        return Problem("nothing_recorded", {"path": str(trace.path)})
    schedule = common.get("schedule")
    if schedule and trace.steps.height == 0:
        return Problem("no_step", {"schedule": ", ".join(f"{k} {v}" for k, v in schedule.items())})
    return Problem("no_kernels", {"operators": trace.host.height, "path": str(trace.path)})
