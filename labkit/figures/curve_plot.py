"""Curves over steps, a training's losses for one: each with its own marker and its own dashes,
so that coinciding ones still show.

Contract. Values are rounded to `digits` decimals before anything is drawn or said: the same bytes
where a run differs in the last bits, as it does from host to host. The finding says how near the
curves are, as the next larger power of ten.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from labkit.figures.svg import WIDTH, Canvas, Figure, number
from labkit.figures.words import join, text_width, ticks
from labkit.messages import text

LEFT, RIGHT, EDGE, HEIGHT = 76, WIDTH - 24, 16, 250
# Outlines around (0, 0), from large to small: the later ones leave the earlier ones visible where curves coincide.
MARKERS = (
    ("grey", "m-8-8h16v16h-16z"),
    ("blue", "m0-7l7 7-7 7-7-7z"),
    ("orange", "m-3.5-3.5h7v7h-7z"),
    ("green", "m0-4l4 7h-8z"),
)
DASHES = ("", "7 4", "2 4", "9 3 2 3")


def curves(
    series: Mapping[str, Sequence[float]], x: str = "step", y: str = "loss", title: str | None = None, digits: int = 3
) -> Figure:
    """One line a name over 1, 2, 3 ... digits: decimals that are drawn and said.

    Raises ValueError for none, more than four, other lengths, or a value that is not finite.
    """
    rows = {name: [round(float(v), digits) for v in values] for name, values in series.items()}
    lengths = {len(values) for values in rows.values()}
    if (
        not 1 <= len(rows) <= len(MARKERS)
        or len(lengths) != 1
        or lengths == {0}
        or not all(math.isfinite(v) for values in rows.values() for v in values)
    ):
        raise ValueError(f"curves needs one to {len(MARKERS)} series of one length with finite numbers")
    (steps,) = lengths
    low, high = min(map(min, rows.values())), max(map(max, rows.values()))
    low, high = (low - 0.5, high + 0.5) if low == high else (low - 0.06 * (high - low), high + 0.06 * (high - low))
    gap = round(max(abs(a - b) for values in rows.values() for a, b in zip(values, next(iter(rows.values())))), digits)
    near = 10.0 ** math.ceil(math.log10(gap) - 1e-9) if gap else 10.0**-digits
    title = title or text("fig_curves_title", y=y, x=x)
    finding = join(
        text("fig_curves_count", n=len(rows), steps=steps),
        *([text("fig_curves_near", near=f"{near:g}")] if len(rows) > 1 else []),
    )

    c = Canvas()
    top = c.heading(title, finding) + 6
    at = float(LEFT)
    for (name, _), (fill, outline), dash in zip(rows.items(), MARKERS, DASHES):
        c.line(at, top, at + 34, top, "k", f' stroke-dasharray="{dash}" stroke-opacity=".6"')
        c.path(f"M{number(at + 17)} {number(top)}{outline}", "d", fill)
        c.text(at + 42, top + 4, name)
        at += 42 + text_width(name) + 26
    top += 22
    bottom = top + HEIGHT

    def place(i: int, v: float) -> tuple[float, float]:
        return LEFT + 20 + (RIGHT - LEFT - 40) * (i / max(steps - 1, 1)), bottom - HEIGHT * (v - low) / (high - low)

    for tick in ticks(low, high, 5):
        level = place(0, tick)[1]
        c.line(LEFT, level, RIGHT, level, "g")
        c.text(LEFT - 8, level + 4, f"{tick:g}", "s m e")
    c.path(f"M{LEFT} {number(top)}V{number(bottom)}H{RIGHT}", "l")
    for i in range(0, steps, max(1, -(-steps // 12))):
        c.text(place(i, low)[0], bottom + 16, i + 1, "s m c")
    c.text(RIGHT, bottom + 32, x, "s e")
    c.text(EDGE, top + 4, y, "s")
    for (name, values), (fill, outline), dash in zip(rows.items(), MARKERS, DASHES):
        points = [place(i, v) for i, v in enumerate(values)]
        c.path(
            "M" + "L".join(f"{number(a)} {number(b)}" for a, b in points),
            "k",
            extra=f' stroke-dasharray="{dash}" stroke-opacity=".6"',
        )
        for a, b in points:
            c.path(f"M{number(a)} {number(b)}{outline}", "d", fill)
    said = [
        f"{name}: {', '.join(f'{v:.{digits}f}' for v in values[:40])}" + (" ..." if steps > 40 else "")
        for name, values in rows.items()
    ]
    return c.figure(title, "\n".join([finding, *said]), bottom + 42)
