"""The fractal map: how a matrix lies in the cube's memories, fractal by fractal.

Contract. `layout_place` is the arithmetic, `fractal_layout` its picture. Orders are named as CANN does, the
capital letter for the order of the fractals (Z: row by row, N: column by column) and the small one for the
elements inside of one: "ND" rows without fractals, "Nz" in L1, "Zz" in L0A, "Zn" in L0B. A fractal has 512 bytes:
16 lines of 32 bytes. L0C is "Nz" too, but its fractals have 16 x 16 elements though each takes 4 bytes, 1024 bytes
in all: elements are in the order of 2-byte ones, so ask for dtype_bytes=2 and count elements.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.figures.svg import COLOURS, WIDTH, Canvas, Figure, number
from labkit.figures.words import wrap
from labkit.messages import text

LINE, BYTES = 16, 32  # lines of a fractal, bytes of a line
ORDERS = ("ND", "Nz", "Zz", "Zn")
TALLEST, WIDEST = 56.0, 84.0
MOST = 240  # fractals that can still be told apart
WHERE = {"ND": "GM", "Nz": "L1, L0C", "Zz": "L0A", "Zn": "L0B"}


@dataclass(frozen=True)
class Layout:
    """rows x columns elements in one order: the height and width of a fractal,
    and how many there are down and across.
    """

    rows: int
    columns: int
    order: str
    dtype_bytes: int = 2

    def __post_init__(self):
        if self.order not in ORDERS:
            raise ValueError(f"order is {self.order!r}; it is one of {', '.join(ORDERS)}")
        if self.rows < 1 or self.columns < 1 or self.dtype_bytes not in (1, 2, 4):
            raise ValueError(
                f"{self.rows} x {self.columns} elements of {self.dtype_bytes} bytes: sizes from 1, types of 1, 2 "
                "or 4 bytes"
            )

    @property
    def high(self) -> int:
        return BYTES // self.dtype_bytes if self.order == "Zn" else LINE

    @property
    def wide(self) -> int:
        return LINE if self.order == "Zn" else BYTES // self.dtype_bytes

    @property
    def down(self) -> int:
        return -(-self.rows // self.high)

    @property
    def across(self) -> int:
        return -(-self.columns // self.wide)

    def fractal(self, i: int, j: int) -> int:
        """The number, in memory, of the fractal in row i and column j of fractals."""
        return j * self.down + i if self.order == "Nz" else i * self.across + j

    def place(self, row: int, column: int) -> int:
        """Elements from the start of the matrix to this one."""
        if self.order == "ND":
            return row * self.columns + column
        inside = (row % self.high, column % self.wide)
        first, second = inside[::-1] if self.order == "Zn" else inside
        line = self.high if self.order == "Zn" else self.wide
        return self.fractal(row // self.high, column // self.wide) * self.high * self.wide + first * line + second


def layout_place(row: int, column: int, rows: int, columns: int, order: str, dtype_bytes: int = 2) -> int:
    """Where an element lies, in elements from the matrix's start."""
    return Layout(rows, columns, order, dtype_bytes).place(row, column)


def fractal_layout(
    rows: int, columns: int, order: str = "Nz", dtype_bytes: int = 2, mark: tuple[int, int] | None = None
) -> Figure:
    """The fractals of a matrix with their numbers in memory; the dashed line goes through them in that order.

    mark: (row, column) of an element whose place is shown as well. Raises ValueError for more than 240 fractals.
    """
    layout = Layout(rows, columns, order, dtype_bytes)
    if layout.down * layout.across > MOST:
        raise ValueError(
            f"{layout.down} x {layout.across} fractals; at most {MOST} can be drawn, so take a part of the matrix"
        )
    full = layout.down * layout.high, layout.across * layout.wide
    where = "L1" if order == "Nz" and dtype_bytes != 2 else WHERE[order]  # L0C's fractals are 16 elements wide
    title = text("fig_fractal_title", rows=rows, columns=columns, order=order, where=where)
    finding = [
        text(
            "fig_fractal_nd" if order == "ND" else "fig_fractal_count",
            n=layout.down * layout.across,
            down=layout.down,
            across=layout.across,
            high=layout.high,
            wide=layout.wide,
            bytes=rows * columns * dtype_bytes,
        )
    ]
    if order != "ND" and full != (rows, columns):
        finding.append(text("fig_fractal_padding", rows=full[0], columns=full[1], n=full[0] * full[1] - rows * columns))
    if mark is not None:
        if not (0 <= mark[0] < rows and 0 <= mark[1] < columns):
            raise ValueError(f"mark is {mark}; the matrix has {rows} rows and {columns} columns")
        at = layout.place(*mark)
        finding.append(text("fig_fractal_mark", row=mark[0], column=mark[1], at=at, bytes=at * dtype_bytes))
    canvas = Canvas()
    top = canvas.heading(title, " ".join(finding)) + 22
    bottom = _draw(canvas, layout, top, mark)
    inside = text(f"fig_fractal_inside_{order}", wide=layout.wide, high=layout.high)
    for line in wrap(inside, canvas.width - 32):
        bottom += 20
        canvas.text(16, bottom, line, "m")
    desc = [*finding, inside]
    if order != "ND":
        desc += [
            text("fig_fractal_row", row=i, numbers=", ".join(str(layout.fractal(i, j)) for j in range(layout.across)))
            for i in range(layout.down)
        ]
    return canvas.figure(title, "\n".join(desc), bottom + 18)


def _draw(canvas: Canvas, layout: Layout, top: float, mark) -> float:
    """The grid; the y below it."""
    left = 70.0
    w = min(WIDEST, (WIDTH - left - 20) / layout.across)
    h = min(TALLEST, w * layout.high / layout.wide * 0.66, 420 / layout.down)
    wide, high = w * layout.columns / layout.wide, h * layout.rows / layout.high
    if layout.order != "ND":  # what fills the fractals up
        canvas.rect(left, top, w * layout.across, h * layout.down, "grey/diagonal", opacity=0.5)
    canvas.rect(left, top, wide, high, "blue")
    for j in range(layout.across):
        if w >= 40 or j % 4 == 0:
            canvas.text(left + j * w + 2, top - 6, j * layout.wide, "s m")
    for i in range(layout.down):
        canvas.text(left - 8, top + i * h + 12, i * layout.high, "s m e")
    if layout.order != "ND":
        for i in range(layout.down + 1):
            canvas.line(left, top + i * h, left + layout.across * w, top + i * h, "y")
        for j in range(layout.across + 1):
            canvas.line(left + j * w, top, left + j * w, top + layout.down * h, "y")
        _numbers(canvas, layout, left, top, w, h)
    else:
        for y in (top + high / 4, top + high / 2):
            canvas.line(left + 8, y, left + wide - 8, y, "y", ' style="stroke-width:1.4"')
        canvas.line(
            left + wide - 8,
            top + high / 4,
            left + 8,
            top + high / 2,
            "y",
            ' style="stroke-width:1.4" stroke-dasharray="4 3"',
        )
    if mark is not None:
        x, y = left + (mark[1] + 0.5) / layout.wide * w, top + (mark[0] + 0.5) / layout.high * h
        canvas.add(f'<circle cx="{number(x)}" cy="{number(y)}" r="5" fill="#c62839" stroke="#fff" stroke-width="1.5"/>')
    return top + (layout.down * h if layout.order != "ND" else high)


def _numbers(canvas: Canvas, layout: Layout, left: float, top: float, w: float, h: float) -> None:
    """The way through the fractals, and their numbers."""
    order = sorted(((layout.fractal(i, j), i, j) for i in range(layout.down) for j in range(layout.across)))
    middle = [(left + (j + 0.5) * w, top + (i + 0.5) * h) for _, i, j in order]
    way = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in middle)
    canvas.path(way, "y", extra=' style="stroke-width:1.4" stroke-dasharray="4 3"')
    if w < 18 or h < 14:
        return
    # the outline keeps the line off the number
    canvas.add(f'<g stroke="{COLOURS["blue"]}" stroke-width="8" stroke-linejoin="round" paint-order="stroke">')
    for (n, _, _), (x, y) in zip(order, middle):
        canvas.text(x, y + 4, n, "w c")
    canvas.add("</g>")
