"""The figure object and a small SVG writer: data in, the same bytes out, on every machine.

Contract. A `Figure` shows itself as SVG with a text twin (title and description), and as text alone under
LABKIT_PLAIN=1. Inside the SVG: `<title>`, `<desc>`, `role="img"`, no reference to anything outside, numbers with two
decimals, ids and class scope named after a hash of the content, so that several figures can share a page.

Light and dark. Inline in a page (widgets, nbconvert, VS Code) a figure is transparent and its text takes the
page's `currentColor`. JupyterLab shows an SVG output inside `<img>`, where nothing is inherited and
`currentColor` is black on any theme; there, and only there, the SVG is its own root (`svg:root`) and brings a
background and a text colour that fit together, dark ones where `prefers-color-scheme` says so (JupyterLab 4.6
passes its theme on that way; elsewhere it is the system's). Every fill is chosen so that it stands 3:1 against
white and against #111 and carries white text at 4.5:1.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from labkit import messages
from labkit.figures.words import fits, text_width, wrap
from labkit.messages import language

WIDTH = 760
MAX_BYTES = 60_000

# Okabe-Ito's hues brought to one luminance (0.12 to 0.18): apart for colour-blind eyes, readable under white text.
COLOURS = {
    "blue": "#0072b2",
    "green": "#00795a",
    "purple": "#a8447f",
    "ochre": "#8a6a00",
    "orange": "#b85000",
    "teal": "#3b7390",
    "violet": "#6a5acd",
    "grey": "#69707a",
    "red": "#c62839",
}
PATTERNS = ("diagonal", "back", "dots", "bars", "grid")

_ID = "\ue000"  # stands for the figure's own name until its content, and so the hash, is known

_STYLE = """
.§{font-family:system-ui,-apple-system,"Segoe UI","Noto Sans CJK SC","Microsoft YaHei",sans-serif;font-size:12px}
svg.§:root{color:#1b1f24;background:#fff}
@media(prefers-color-scheme:dark){svg.§:root{color:#e8eaed;background:#111}}
.§ text{fill:currentColor}
.§ .lk-h{font-size:15px;font-weight:600}.§ .lk-b{font-weight:600}.§ .lk-m{opacity:.78}.§ .lk-s{font-size:11px}
.§ .lk-w{fill:#fff;font-weight:600;pointer-events:none}.§ .lk-e{text-anchor:end}.§ .lk-c{text-anchor:middle}
.§ .lk-l{stroke:currentColor;fill:none;stroke-opacity:.45}.§ .lk-g{stroke:currentColor;fill:none;stroke-opacity:.16}
.§ .lk-o{stroke:currentColor;fill:currentColor;fill-opacity:.05;stroke-opacity:.45}
.§ .lk-d{stroke:#fff;stroke-opacity:.8}
.§ .lk-q{fill:currentColor;fill-opacity:.06}.§ .lk-y{stroke:#fff;fill:none;stroke-width:3.6;stroke-opacity:.85}
.§ .lk-x{stroke:#c62839;fill:none;stroke-width:1.6;stroke-dasharray:4 3}
.§ .lk-k{stroke:currentColor;fill:none;stroke-width:2}
""".replace("§", _ID)


def plain() -> bool:
    """True where only text is wanted: screen readers, logs."""
    return os.environ.get("LABKIT_PLAIN", "") not in ("", "0")


@dataclass(frozen=True, repr=False)
class Figure:
    """One picture and its text twin. `desc` starts with the finding and then lists the numbers, one row a line."""

    svg: str
    title: str
    desc: str

    def __repr__(self) -> str:
        return f"{self.title}\n{self.desc}"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if not plain():
            bundle["image/svg+xml"] = self.svg
        return bundle

    def inline(self) -> "Inline":
        """The same figure as HTML: JupyterLab then gives it the theme's colours and shows the tooltips of its bars."""
        return Inline(self)

    def save(self, path: str | os.PathLike) -> Path:
        """Write the SVG and return its path."""
        target = Path(path)
        target.write_text(self.svg, encoding="utf-8", newline="\n")
        return target


@dataclass(frozen=True, repr=False)
class Inline:
    figure: Figure

    def __repr__(self) -> str:
        return repr(self.figure)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if not plain():
            bundle["text/html"] = self.figure.svg
        return bundle


def number(value: float) -> str:
    """At most two decimals, no trailing zeros, no minus zero."""
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short in ("-0", "") else short


def _class(names: str) -> str:
    """The class attribute. The prefix keeps a host page's own `.c` or `.m` away from inline figures."""
    return f' class="{" ".join("lk-" + name for name in names.split())}"' if names else ""


class Canvas:
    """Elements in drawing order. `fill` is a palette name, `name/pattern` for a patterned one,
    or None for a plain outline.
    """

    def __init__(self, width: float = WIDTH):
        self.width = width
        self._body: list[str] = []
        self._patterns: dict[str, str] = {}

    def mark(self) -> int:
        """A place in the drawing order, for `path(at=...)` to come back to."""
        return len(self._body)

    def add(self, raw: str) -> None:
        self._body.append(raw)

    def fill(self, fill: str | None) -> str:
        """The fill attribute of a palette name or `name/pattern`; a pattern is defined at its first use."""
        if fill is None:
            return ""
        name, _, kind = fill.partition("/")
        if not kind:
            return f' fill="{COLOURS[name]}"'
        self._patterns.setdefault(f"{name}-{kind}", _pattern(f"{_ID}-{name}-{kind}", COLOURS[name], kind))
        return f' fill="url(#{_ID}-{name}-{kind})"'

    def rect(self, x, y, w, h, fill=None, *, cls="", rx=0.0, title="", opacity=1.0) -> None:
        attributes = (
            f'x="{number(x)}" y="{number(y)}" width="{number(max(w, 0))}" height="{number(h)}"{self.fill(fill)}'
        )
        attributes += _class(cls)
        attributes += f' rx="{number(rx)}"' if rx else ""
        attributes += f' opacity="{number(opacity)}"' if opacity < 1 else ""
        self.add(f"<rect {attributes}><title>{escape(title)}</title></rect>" if title else f"<rect {attributes}/>")

    def bar(self, x, y, w, h, tip: str, fill=None, edge=False) -> None:
        """A rectangle in the group around it, kept short: a chart has hundreds."""
        top = f' y="{number(y)}"' if y else ""
        more = self.fill(fill) + (_class("d") if edge else "")
        self.add(
            f'<rect x="{number(x)}"{top} width="{number(w)}" '
            f'height="{number(h)}"{more}><title>{escape(tip)}</title></rect>'
        )

    def text(self, x, y, words, cls="", opacity=1.0) -> None:
        attributes = f'x="{number(x)}" y="{number(y)}"' + _class(cls)
        attributes += f' opacity="{number(opacity)}"' if opacity < 1 else ""
        self.add(f"<text {attributes}>{escape(str(words))}</text>")

    def inside(self, x, y, w, h, words: str, fill: str, *, size: int = 12) -> bool:
        """White text centred in a filled box, on a plain plate where the box is patterned.
        False (nothing drawn) if it would not fit.
        """
        if not fits(words, w, size) or h < size + 2:
            return False
        name, _, kind = fill.partition("/")
        if kind:
            wide = text_width(words, size, bold=True) + 4
            self.rect(x + w / 2 - wide / 2, y + h / 2 - size * 0.65, wide, size * 1.3, name, rx=3)
        self.text(x + w / 2, y + h / 2 + size * 0.36, words, "w c s" if size == 11 else "w c")
        return True

    def path(self, d: str, cls="", fill=None, extra="", at: int | None = None) -> None:
        raw = f'<path d="{d}"{self.fill(fill)}{_class(cls)}{extra}/>'
        self._body.insert(len(self._body) if at is None else at, raw)

    def line(self, x1, y1, x2, y2, cls="l", extra="") -> None:
        self.path(f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", cls, extra=extra)

    def heading(self, title: str, finding: str, y: float = 24) -> float:
        """Title and finding at the top; the y where the drawing may start."""
        self.text(16, y, title, "h")
        for row in wrap(finding, self.width - 32):
            y += 19
            self.text(16, y, row, "m")
        return y + 12

    def arrow(self, points, cls="l", fill=None, extra="") -> None:
        """A polyline through `points` with a small head at its end."""
        (x0, y0), (x1, y1) = points[-2], points[-1]
        length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 1e-9)
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        tip, back, side = (x1, y1), (x1 - 8 * ux, y1 - 8 * uy), (-4.5 * uy, 4.5 * ux)
        self.path("M" + "L".join(f"{number(x)} {number(y)}" for x, y in [*points[:-1], back]), cls, extra=extra)
        head = (tip, (back[0] + side[0], back[1] + side[1]), (back[0] - side[0], back[1] - side[1]))
        colour = self.fill(fill) if fill else ' fill="currentColor"'
        self.add('<path d="M' + "L".join(f"{number(x)} {number(y)}" for x, y in head) + f'z"{colour}/>')

    def warn(self, x, y, mark="!") -> None:
        """The warning sign: a red triangle with a mark, 16 px wide, centred on (x, y)."""
        self.path(f"M{number(x)} {number(y - 8)}l9 15h-18z", fill="red", extra=' stroke="#fff" stroke-width=".8"')
        self.add(
            f'<text x="{number(x)}" y="{number(y + 5)}" class="lk-w lk-c" '
            f'style="font-size:10px">{escape(str(mark))}</text>'
        )

    def figure(self, title: str, desc: str, height: float) -> Figure:
        """Close the drawing. The id is a hash of everything in it."""
        defs = "".join(self._patterns[key] for key in sorted(self._patterns))
        w, h = number(self.width), number(height)
        size = f'width="{w}" height="{h}" viewBox="0 0 {w} {h}"'
        svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{_ID}" {size} role="img" aria-labelledby="{_ID}-t '
            f'{_ID}-d" '
            f'lang="{language()}" style="max-width:100%;height:auto"><title id="{_ID}-t">{escape(title)}</title>'
            f'<desc id="{_ID}-d">{escape(desc)}</desc><style>{_STYLE}</style>'
            + (f"<defs>{defs}</defs>" if defs else "")
            + "\n"
            + "\n".join(self._body)
            + "\n</svg>\n"
        )
        name = "lab-" + hashlib.sha256(svg.encode()).hexdigest()[:8]
        return Figure(svg.replace(_ID, name), title, desc)


def _pattern(name: str, colour: str, kind: str) -> str:
    """One tile of a pattern: the colour with a white figure on it."""
    marks = {
        "diagonal": ("8", '<path d="M-2 6l4 4M0 0l8 8M6-2l4 4" stroke="#fff" stroke-width="1.6"/>'),
        "back": ("8", '<path d="M-2 2l4-4M0 8l8-8M6 10l4-4" stroke="#fff" stroke-width="1.6"/>'),
        "dots": ("7", '<circle cx="3.5" cy="3.5" r="1.3" fill="#fff"/>'),
        "bars": ("4", '<path d="M2 0v4" stroke="#fff" stroke-width="1.2"/>'),
        "grid": ("7", '<path d="M0 3.5h7M3.5 0v7" stroke="#fff" stroke-width="1"/>'),
    }
    side, figure = marks[kind]
    return (
        f'<pattern id="{name}" width="{side}" height="{side}" patternUnits="userSpaceOnUse">'
        f'<rect width="{side}" height="{side}" fill="{colour}"/><g stroke-opacity=".6" '
        f'fill-opacity=".7">{figure}</g></pattern>'
    )


# ---- what stands where a figure would: a launch on a real NPU leaves no timeline and no buffers


def absent(*records) -> Figure | None:
    """A one-line figure that says so, when one of the launches was measured on an NPU; else None."""
    if not any(getattr(r, "time_kind", "") == "measured" and getattr(r, "timeline", None) is None for r in records):
        return None
    said = messages.text("fig_no_timeline")
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" width="760" height="30" viewBox="0 0 760 '
        '30"><title>SKIP</title>'
        f'<desc>{escape(said)}</desc><text x="16" y="20" font-family="system-ui" font-size="12" '
        f'fill="#767676">SKIP: {escape(said)}</text></svg>'
    )
    return Figure(svg, "SKIP", said)
