"""The tiling map: how n elements in GM are cut into cores, each core into tiles, and what is left at the end.

Contract. Cores that get the same number of elements are one row. Widths are proportional to elements unless the middle
is left out, which the figure then says. A length or start that is no multiple of 32 B, the smallest piece a plain
DataCopy moves, carries a warning sign and its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.figures.svg import WIDTH, Canvas, Figure
from labkit.figures.words import fits, join, shorten, size_text
from labkit.messages import text

ALIGN = 32  # bytes: one data block
LEFT, RIGHT = 16, WIDTH - 16
BAR_LEFT, BAR_RIGHT = 118, 596
ROWS, TILES = 6, 14
_FILLS = ("blue", "teal/dots", "violet/grid", "grey")


@dataclass(frozen=True)
class CoreGroup:
    """Neighbouring cores with the same number of elements: first .. last, each `length` elements;
    `off` of them start off a 32 B line.
    """

    first: int
    last: int
    length: int
    off: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1


def split_even(n: int, blocks: int) -> list[tuple[int, int]]:
    """(start, length) a core: lengths differ by one element at most, the longer ones first."""
    base, extra = divmod(n, blocks)
    return [(i * base + min(i, extra), base + (i < extra)) for i in range(blocks)]


def split_aligned(n: int, blocks: int, dtype_bytes: int) -> list[tuple[int, int]]:
    """(start, length) a core: every start on a 32 B line; the last cores get what is left, which may be nothing."""
    unit = max(ALIGN // dtype_bytes, 1)
    each = -(-n // (blocks * unit)) * unit
    return [(min(i * each, n), max(0, min(each, n - i * each))) for i in range(blocks)]


def read_split(n: int, blocks: int, dtype_bytes: int, split: str | Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """ "even", "aligned", or the list itself. Raises ValueError for numbers that make no tiling."""
    if n < 0 or blocks <= 0 or dtype_bytes <= 0:
        raise ValueError(f"n={n}, blocks={blocks}, dtype_bytes={dtype_bytes}: want n >= 0, blocks > 0, dtype_bytes > 0")
    if split == "even":
        return split_even(n, blocks)
    if split == "aligned":
        return split_aligned(n, blocks, dtype_bytes)
    if isinstance(split, str):
        raise ValueError(f'split={split!r}: want "even", "aligned" or a list of (start, length)')
    pieces = [(int(start), int(length)) for start, length in split]
    if any(start < 0 or length < 0 for start, length in pieces):
        raise ValueError("split: starts and lengths must not be negative")
    return pieces


def _groups(cores: list[tuple[int, int]], dtype_bytes: int) -> list[CoreGroup]:
    groups: list[CoreGroup] = []
    for i, (start, length) in enumerate(cores):
        off = int(start * dtype_bytes % ALIGN != 0 and length > 0)
        if groups and groups[-1].length == length:
            groups[-1] = CoreGroup(groups[-1].first, i, length, groups[-1].off + off)
        else:
            groups.append(CoreGroup(i, i, length, off))
    return groups


def _coverage(cores: list[tuple[int, int]], n: int) -> tuple[int, int]:
    """(elements no core has, elements that more than one core has or that lie beyond n)."""
    missing = doubled = cursor = 0
    for start, length in sorted(c for c in cores if c[1]):
        missing += max(0, min(start, n) - cursor)
        doubled += max(0, min(cursor, start + length) - start)
        cursor = max(cursor, start + length)
    return missing + max(0, n - cursor), doubled + max(0, cursor - n)


def tiling_map(
    n: int, blocks: int, tile: int, dtype_bytes: int, split: str | Sequence[tuple[int, int]] = "even"
) -> Figure:
    """GM line -> cores -> tiles -> tail. `n`, `tile` and explicit (start, length) pieces in elements."""
    if tile <= 0:
        raise ValueError(f"tile={tile}: want at least one element")
    cores = read_split(n, blocks, dtype_bytes, split)
    groups = _groups(cores, dtype_bytes)
    missing, doubled = _coverage(cores, n)
    title = text(
        "fig_tiling_title",
        n=f"{n:,}",
        size=size_text(n * dtype_bytes),
        cores=len(cores),
        tile=f"{tile:,}",
        tile_size=size_text(tile * dtype_bytes),
    )
    sentences = (
        [text("fig_tiling_even", length=f"{groups[0].length:,}")]
        if len(groups) == 1
        else [
            text(
                "fig_tiling_uneven", low=f"{min(g.length for g in groups):,}", high=f"{max(g.length for g in groups):,}"
            )
        ]
    )
    tails = sorted({g.length % tile for g in groups if g.length % tile})
    sentences.append(
        text("fig_tiling_tails", tails=", ".join(f"{t:,}" for t in tails[:4])) if tails else text("fig_tiling_no_tail")
    )
    finding = join(*sentences)
    alerts = []
    if tile * dtype_bytes % ALIGN:
        alerts.append(text("fig_tiling_tile_odd", bytes=f"{tile * dtype_bytes:,}", align=ALIGN))
    if missing:
        alerts.append(text("fig_tiling_missing", n=f"{missing:,}"))
    if doubled:
        alerts.append(text("fig_tiling_doubled", n=f"{doubled:,}"))

    c = Canvas()
    y = c.heading(title, finding)
    for alert in alerts:
        c.warn(25, y + 6)
        c.text(42, y + 11, alert)
        y += 20
    y = _gm_line(c, y + 4, n, cores, groups, dtype_bytes)
    rows, y = _rows(c, y, groups, tile, dtype_bytes)
    return c.figure(title, "\n".join([finding, *alerts, *rows]), y + 4)


def _fill(groups: list[CoreGroup], core: int) -> str:
    return _FILLS[min(next(i for i, g in enumerate(groups) if g.first <= core <= g.last), len(_FILLS) - 1)]


def _gm_line(c: Canvas, y: float, n: int, cores, groups, dtype_bytes: int) -> float:
    """The tensor as one line, cut into cores; at most 64 cores are drawn to scale, else the first and last few."""
    c.text(LEFT, y + 10, text("fig_gm", size=size_text(n * dtype_bytes)), "b")
    y += 18
    end = max([n, *(start + length for start, length in cores)]) or 1
    if len(cores) <= 64:
        px = (RIGHT - LEFT) / end
        places = [(i, LEFT + start * px, length * px) for i, (start, length) in enumerate(cores) if length]
    else:
        wide = 56.0
        heads, tails = range(5), range(len(cores) - 3, len(cores))
        places = [(i, LEFT + i * wide, wide) for i in heads] + [
            (i, RIGHT - (len(cores) - i) * wide, wide) for i in tails
        ]
        middle = (LEFT + 5 * wide + RIGHT - 3 * wide) / 2
        c.text(middle, y + 16, text("fig_more_cores", n=len(cores) - 8), "m c")
    inside = all(fits(str(core), wide, 11) for core, _, wide in places)
    if not inside:  # too narrow for numbers: every eighth core is numbered above the line
        y += 14
        for core, x, wide in places:
            if core % 8 == 0:
                c.text(x + wide / 2, y - 4, str(core), "s m c")
    c.rect(LEFT, y, RIGHT - LEFT, 24, cls="o", rx=2)
    for core, x, wide in places:
        fill = _fill(groups, core)
        tip = text("fig_core_tip", core=core, start=f"{cores[core][0]:,}", length=f"{cores[core][1]:,}")
        c.rect(x, y, wide, 24, fill, cls="d" if wide > 3 else "", title=tip)
        if inside and not c.inside(x, y, wide, 24, text("fig_core", core=core), fill, size=11):
            c.inside(x, y, wide, 24, str(core), fill, size=11)
    first = next((p for p in places if p[0] == groups[0].first), None)
    if first:  # the zoom from the first core's piece to its row of tiles
        c.path(
            f"M{first[1]:.2f} {y + 24:.2f}L{BAR_LEFT} {y + 56:.2f}H{BAR_RIGHT}L{first[1] + first[2]:.2f} {y + 24:.2f}z",
            "q",
        )
    return y + 56


def _rows(c: Canvas, y: float, groups: list[CoreGroup], tile: int, dtype_bytes: int) -> tuple[list[str], float]:
    longest = max((g.length for g in groups), default=0)
    to_scale = -(-longest // tile) <= TILES
    per_element = (BAR_RIGHT - BAR_LEFT) / (longest if to_scale else 8.5 * tile) if longest else 0.0
    shown = groups if len(groups) <= ROWS else [*groups[: ROWS - 2], *groups[-1:]]
    lines = []
    for i, g in enumerate(shown):
        if len(shown) < len(groups) and i == len(shown) - 1:
            lines.append(text("fig_more_cores", n=shown[-1].first - shown[-2].last - 1))
            c.text(LEFT, y + 14, lines[-1], "m")
            y += 24
        flags = _flags(g, tile, dtype_bytes)
        name = text("fig_core", core=f"{g.first}–{g.last}" if g.count > 1 else g.first)
        c.text(LEFT, y + 14, shorten(name, BAR_LEFT - LEFT - 8, 12.5), "b")
        if g.count > 1:
            c.text(LEFT, y + 28, text("fig_alike", n=g.count), "s m")
        words = text("fig_elements", n=f"{g.length:,}")
        c.text(BAR_RIGHT + 12, y + 14, words, "b")
        volume = text("fig_core_bytes", size=f"{g.length * dtype_bytes:,}", tiles=f"{-(-g.length // tile):,}")
        c.text(BAR_RIGHT + 12, y + 28, volume, "s m")
        _tiles(c, y, g, tile, per_element, to_scale, _fill(groups, g.first))
        y += 34
        for flag in flags:
            c.warn(BAR_LEFT + 9, y + 7)
            c.text(BAR_LEFT + 24, y + 12, flag, "s")
            y += 19
        y += 12
        lines.append(f"{name}: " + "; ".join([f"{words}, {volume}", *flags]))
    if any(g.length % tile for g in shown):
        c.rect(LEFT, y - 10, 22, 12, "orange/diagonal", rx=2)
        c.text(LEFT + 28, y, text("fig_tail_legend"), "s m")
        y += 18
    return lines, y


def _tiles(c: Canvas, y: float, g: CoreGroup, tile: int, per_element: float, to_scale: bool, fill: str) -> None:
    """One core's tiles; the middle ones are left out when they are too many to see."""
    full, tail = divmod(g.length, tile)
    c.rect(BAR_LEFT, y, BAR_RIGHT - BAR_LEFT, 30, cls="q", rx=2)
    if not g.length:
        c.text(BAR_LEFT + 10, y + 19, text("fig_no_work"), "m")
        return
    wide, x = tile * per_element, float(BAR_LEFT)
    for i in range(full) if to_scale or full <= 6 else (*range(4), None, full - 1):
        if i is None:
            words = text("fig_more_tiles", n=f"{full - 5:,}")
            c.text(x + wide * 1.1, y + 19, words, "m c s")
            x += wide * 2.2
            continue
        c.rect(
            x, y, wide, 30, fill, cls="d" if wide > 3 else "", title=text("fig_tile_tip", tile=i, length=f"{tile:,}")
        )
        c.inside(x, y, wide, 30, f"{tile:,}", fill, size=11)
        x += wide
    if tail:
        part, words = tail * per_element, text("fig_tail", n=f"{tail:,}")
        c.rect(x, y, max(part, 1.5), 30, "orange/diagonal", cls="d" if part > 3 else "", title=words)
        said = any(c.inside(x, y, part, 30, w, "orange/diagonal", size=11) for w in (words, f"{tail:,}"))
        if not said and fits(words, BAR_RIGHT - x - part - 4, 11):
            c.text(x + part + 5, y + 19, words, "s")


def _flags(g: CoreGroup, tile: int, dtype_bytes: int) -> list[str]:
    """What is no multiple of 32 B in these cores."""
    flags = []
    tail = g.length % tile
    if tail * dtype_bytes % ALIGN:
        flags.append(
            text(
                "fig_tail_odd",
                n=f"{tail:,}",
                bytes=f"{tail * dtype_bytes:,}",
                align=ALIGN,
                rest=tail * dtype_bytes % ALIGN,
            )
        )
    if g.off:
        flags.append(text("fig_start_odd", n=g.off, of=g.count, align=ALIGN))
    return flags
