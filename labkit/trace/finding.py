"""One thing that is wrong: what, how sure and how much it costs, with the rows that show it."""

from __future__ import annotations

from dataclasses import dataclass, field

from labkit import messages

# A finding has to be worth a twentieth of a step: less drowns in what two runs of one program differ by.
FLOOR = 0.05
# above this share of the step "high", above FLOOR * 2 "medium"; only for the eye: the order is by gain
HIGH, MEDIUM = 0.25, 0.10


@dataclass
class Finding:
    """`gain_us`: estimated µs a step that the cure saves at most; `share`: of the step. `evidence`: rows with times."""

    code: str
    gain_us: float
    share: float
    fields: dict = field(default_factory=dict)
    evidence: list[dict] = field(default_factory=list)
    rank: int | None = None

    @property
    def severity(self) -> str:
        return "high" if self.share >= HIGH else "medium" if self.share >= MEDIUM else "low"

    def _fields(self) -> dict:
        return {"gain": time(self.gain_us), "share": f"{100 * self.share:.0f} %", **self.fields}

    def lines(self, lang: str | None = None) -> list[str]:
        """[what, why, what to do]."""
        return messages.lines(f"trace.finding.{self.code}", lang=lang, **self._fields())

    def text(self, lang: str | None = None) -> str:
        return "\n".join(self.lines(lang))

    def json(self) -> dict:
        return {
            "code": self.code,
            "severity": self.severity,
            "gain_us": round(self.gain_us, 3),
            "share": round(self.share, 4),
            "rank": self.rank,
            "text": self.lines(),
            "fields": self.fields,
            "evidence": self.evidence,
        }

    def __repr__(self) -> str:
        return f"[{self.code}, {self.severity}, up to {time(self.gain_us)} a step] " + " ".join(self.lines())


def time(us: float) -> str:
    """1234.5 -> "1.23 ms": three digits."""
    for size, unit in ((1e6, "s"), (1e3, "ms"), (1.0, "us")):
        if abs(us) >= size:
            return f"{us / size:.3g} {unit}" if abs(us) < 999 * size else f"{us / size:.0f} {unit}"
    return f"{us:.2g} us" if abs(us) >= 0.0005 else "0 us"  # half of a clock's nanosecond
