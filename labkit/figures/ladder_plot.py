"""The ladder: steps of an optimisation, the twin's modelled time beside the published, measured one.

Contract. A row is a dict with `name`, `modelled` and `measured` (microseconds; either may be None, and
then says so) and `source`. The two kinds of time differ by pattern and by words, never by colour alone,
and neither stands in for the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from labkit.figures.svg import WIDTH, Canvas, Figure, number
from labkit.figures.words import join, shorten, text_width, ticks, time_text, wrap
from labkit.messages import text

LEFT, BAR_LEFT, BAR_RIGHT, EDGE = 16, 214, 590, WIDTH - 16
PITCH, BAR = 50, 15
FILLS = {"modelled": "blue/diagonal", "measured": "grey"}


def _positive(value) -> float | None:
    if value is None:
        return None
    if not value > 0 or math.isinf(value):
        raise ValueError(f"a time must be a positive number of microseconds, got {value!r}")
    return float(value)


def ladder(rows: Iterable[Mapping], log: bool = False, title: str | None = None, chip: str = "910B1") -> Figure:
    """Bar pairs on one axis. `log=True`: a logarithmic axis, which the figure then names.
    Raises ValueError for no rows or times <= 0.
    """
    steps = [
        (str(r["name"]), _positive(r.get("modelled")), _positive(r.get("measured")), str(r.get("source") or ""))
        for r in rows
    ]
    values = [v for _, a, b, _ in steps for v in (a, b) if v is not None]
    if not values:
        raise ValueError("a ladder needs at least one row with a time")
    title = title or text("fig_ladder_title")
    low, high = (10 ** math.floor(math.log10(min(values)) - 0.001), max(values)) if log else (0.0, max(values))

    def width(value: float) -> float:
        return (BAR_RIGHT - BAR_LEFT) * (math.log(value / low) / math.log(high / low) if log else value / high)

    sources = [s for s in dict.fromkeys(source for *_, source in steps) if s]
    pairs = [(a, b) for _, a, b, _ in steps if a and b]
    finding = text("fig_ladder_finding", n=len(steps), chip=chip)
    if pairs:
        finding = join(
            finding, text("fig_ladder_error", worst=f"{max(abs(a / b - 1) for a, b in pairs) * 100:.0f}", n=len(pairs))
        )
    c = Canvas()
    y = _legend(c, c.heading(title, finding) + 8)
    behind, top, lines = c.mark(), y, []
    c.text(EDGE, y - 6, text("fig_ladder_ratio"), "s m e")
    for i, (name, modelled, measured, source) in enumerate(steps):
        said = wrap(name, BAR_LEFT - LEFT - 14)
        said = said if len(said) <= 2 else [said[0], shorten(" ".join(said[1:]), BAR_LEFT - LEFT - 14)]
        for k, row in enumerate(said):
            c.text(LEFT, y + 24 - (len(said) - 1) * 7.5 + 15 * k, row, "b")
        for k, (kind, value) in enumerate((("modelled", modelled), ("measured", measured))):
            at = y + 8 + k * (BAR + 2)
            mark = f" [{sources.index(source) + 1}]" if kind == "measured" and source else ""
            if value is None:
                c.text(BAR_LEFT + 6, at + 12, text(f"fig_no_{kind}"), "s m")
                continue
            tip = f"{name}: {time_text(value)} us {text('fig_' + kind)}"
            c.rect(BAR_LEFT, at, max(width(value), 0.8), BAR, FILLS[kind], rx=1.5, title=tip)
            c.text(BAR_LEFT + width(value) + 6, at + 12, f"{time_text(value)} us{mark}", "s")
        ratio = f"{(modelled / measured - 1) * 100:+.0f} %".replace("-", "−") if modelled and measured else ""
        c.text(EDGE, y + 28, ratio, "b e")
        both = ", ".join(
            f"{time_text(v)} us {text('fig_' + k)}" if v else text(f"fig_no_{k}")
            for k, v in (("modelled", modelled), ("measured", measured))
        )
        lines.append(f"{i + 1} {name}: {both}" + (f" ({ratio})" if ratio else ""))
        y += PITCH
    _axis(c, low, high, log, width, top, y, behind)
    y += 52
    for i, source in enumerate(sources, 1):
        for k, row in enumerate(wrap(source, EDGE - LEFT - 26, 11)):
            c.text(LEFT + 24, y, row, "s m")
            if k == 0:
                c.text(LEFT, y, f"[{i}]", "s")
            y += 15
    return c.figure(title, "\n".join([finding, *lines, *(f"[{i}] {s}" for i, s in enumerate(sources, 1))]), y + 4)


def _legend(c: Canvas, y: float) -> float:
    x = float(LEFT)
    for kind in ("modelled", "measured"):
        c.rect(x, y - 10, 22, 12, FILLS[kind], rx=2)
        words = text(f"fig_ladder_{kind}")
        c.text(x + 28, y, words, "s")
        x += 28 + text_width(words, 11) + 24
    return y + 16


def _axis(c: Canvas, low: float, high: float, log: bool, width, top: float, y: float, behind: int) -> None:
    if log:
        marks = [10.0**k for k in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]
    else:
        marks = ticks(low, high, 5)
    for tick in marks:
        c.text(BAR_LEFT + width(tick), y + 17, time_text(tick), "s m c")
    c.path("".join(f"M{number(BAR_LEFT + width(t))} {number(top)}V{number(y + 4)}" for t in marks), "g", at=behind)
    c.line(BAR_LEFT, y, BAR_RIGHT, y, "l")
    c.text(BAR_RIGHT, y + 33, text("fig_ladder_log" if log else "fig_ladder_axis"), "s e")
