"""compare(a, b): two launches side by side, in numbers and on one time scale."""

from __future__ import annotations

import html
from dataclasses import dataclass

from labkit.analysis.bound import bound
from labkit.analysis.facts import facts
from labkit.analysis.whatifs import replay
from labkit.figures import Figure, compare_timelines
from labkit.figures.svg import absent, plain
from labkit.figures.words import size_text, time_text
from labkit.launch.record import PIPES, LaunchRecord
from labkit.messages import aligned, text


@dataclass(frozen=True, repr=False)
class Comparison:
    """`rows`: (what, a's, b's, b's in parts of a's or ""), `figure`: the two timelines."""

    labels: tuple[str, str]
    rows: list[tuple[str, str, str, str]]
    figure: Figure | None

    def __str__(self) -> str:
        table = [("", *self.labels, text("compare.ratio")), *self.rows]
        return "\n".join(aligned(table, numbers=True))

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        bundle = {"text/plain": str(self)}
        if not plain():
            head = "".join(f"<th>{html.escape(h)}</th>" for h in ("", *self.labels, text("compare.ratio")))
            body = "".join(
                "<tr>"
                + "".join(
                    f"<{'th' if i == 0 else 'td'}>{html.escape(c)}</{'th' if i == 0 else 'td'}>"
                    for i, c in enumerate(row)
                )
                + "</tr>"
                for row in self.rows
            )
            bundle["text/html"] = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" + (
                self.figure.svg if self.figure else ""
            )
        return bundle


def compare(a: LaunchRecord, b: LaunchRecord, labels: tuple[str, str] | None = None) -> Comparison | Figure:
    """With a launch on a real NPU: a figure that says that there is no timeline."""
    if (none := absent(a, b)) is not None:
        return none
    names = labels or (a.kernel, b.kernel)
    if names[0] == names[1]:
        names = (f"A {names[0]}", f"B {names[1]}")
    fa, fb = facts(a), facts(b)
    rows: list[tuple[str, str, str, str]] = []

    def row(what: str, x: float, y: float, show=time_text) -> None:
        if x or y:
            rows.append((what, show(x), show(y), f"{y / x:.2f}" if x else ""))

    row(text("compare.time", kind=text(f"fig_{a.time_kind}")), a.time_us, b.time_us)
    row(text("compare.core"), fa.core_us, fb.core_us)
    rows.append((text("compare.blocks"), str(a.blocks), str(b.blocks), ""))
    for pipe in PIPES:
        row(text("compare.busy", pipe=pipe), a.busy.get(pipe, 0.0), b.busy.get(pipe, 0.0))
    row(text("compare.read"), fa.read, fb.read, size_text)
    row(text("compare.missed"), fa.missed, fb.missed, size_text)
    row(text("compare.written"), fa.written, fb.written, size_text)
    for pipe in PIPES:
        if pipe != "S":
            row(
                text("compare.instructions", pipe=pipe),
                *(sum(c[f"instructions.{pipe}"] for c in r.cores) for r in (a, b)),
                show=lambda n: f"{n:,}",
            )
    rows.append(
        (
            text("compare.bound"),
            *(text(f"explain.kind.{bound(f, replay(r, f, changes=False)).kind}") for r, f in ((a, fa), (b, fb))),
            "",
        )
    )
    shown = all(r.timeline is not None and len(r.timeline) for r in (a, b))
    return Comparison(tuple(names), rows, compare_timelines(a, b, labels=tuple(names)) if shown else None)
