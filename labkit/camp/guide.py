"""The teacher's guide: what is seen, and the question to ask. The table is guide.toml; `labkit report` uses it too."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from labkit import messages
from labkit.exercises.spec import pick, tomllib


@dataclass(frozen=True)
class Symptom:
    """seen, ask: {"en", "zh"}; diagnosis: keys of checks."""

    diagnosis: tuple[str, ...]
    seen: dict
    ask: dict


@lru_cache(maxsize=1)
def symptoms() -> tuple[Symptom, ...]:
    data = tomllib.loads((Path(__file__).parent / "guide.toml").read_text(encoding="utf-8"))
    return tuple(Symptom(tuple(s["diagnosis"]), s["seen"], s["ask"]) for s in data["symptom"])


def question(diagnosis: str) -> str:
    """What to ask who is stuck at this diagnosis, in the language in force; the general one for another diagnosis."""
    found = next((s for s in symptoms() if diagnosis in s.diagnosis), None)
    return pick((found or next(s for s in symptoms() if not s.diagnosis)).ask)


class Guide:
    """The table of a page."""

    def __str__(self) -> str:
        return "\n".join(f"{pick(s.seen)}\n    {pick(s.ask)}" for s in symptoms())

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        heads = "".join(f"<th style='text-align:left'>{messages.text(f'camp.guide-{n}')}</th>" for n in ("seen", "ask"))
        rows = "".join(
            "<tr>"
            + "".join(f"<td style='text-align:left'>{html.escape(pick(t))}</td>" for t in (s.seen, s.ask))
            + "</tr>"
            for s in symptoms()
        )
        return {
            "text/plain": str(self),
            "text/html": f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>",
        }
