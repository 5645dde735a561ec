"""What stands where a figure would: a launch on a real NPU leaves no timeline and no buffers, and a lesson goes on."""

from __future__ import annotations

from xml.sax.saxutils import escape

from labkit.figures.svg import Figure
from labkit.messages import text


def absent(*records) -> Figure | None:
    """A one-line figure that says so, when one of the launches was measured on an NPU; else None."""
    if not any(getattr(r, "time_kind", "") == "measured" and getattr(r, "timeline", None) is None for r in records):
        return None
    said = text("fig_no_timeline")
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" width="760" height="30" viewBox="0 0 760 '
        '30"><title>SKIP</title>'
        f'<desc>{escape(said)}</desc><text x="16" y="20" font-family="system-ui" font-size="12" '
        f'fill="#767676">SKIP: {escape(said)}</text></svg>'
    )
    return Figure(svg, "SKIP", said)
