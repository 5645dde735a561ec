"""The time axis below a timeline, with a grid behind its bars."""

from __future__ import annotations

from labkit.figures.svg import Canvas, number
from labkit.figures.words import ticks, time_text
from labkit.messages import text


def time_axis(
    c: Canvas, low: float, high: float, left: float, right: float, top: float, y: float, behind: int, kinds: str
) -> None:
    """From `low` to `high` us between the pixels left and right, at height y; grid lines from `top`. kinds: "modelled",
    "measured".
    """
    grid, us_per_px = [], (high - low) / (right - left)
    for tick in ticks(low, high, 7):
        x = left + (tick - low) / us_per_px
        grid.append(f"M{number(x)} {number(top)}V{number(y + 4)}")
        c.text(x, y + 17, time_text(tick), "s m c")
    c.path("".join(grid), "g", at=behind)
    c.line(left, y, right, y, "l")
    c.text(right, y + 32, text("fig_time_axis", kind=kinds), "s e")
