"""The memory ruler: the Unified Buffer (or another on-chip memory) as a bar, with every buffer at its address.

Contract. Buffers are dicts or objects with name, pos, addr, bytes, kind ("queue" | "buf" | "local") and index (the
slot); only `bytes` is needed: a missing address continues after the buffer before, as `TPipe::InitBuffer` does. The
bar's scale is linear in bytes. Size, reserve and alignment: 192 KB of UB on dav-2201, whose last 8 KB the API keeps for
itself, in data blocks of 32 B.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from labkit.figures.svg import WIDTH, Canvas, Figure, absent
from labkit.figures.words import fits, join, percent, shorten, size_text, text_width, wrap
from labkit.messages import text

KB = 1024
LEFT, RIGHT = 16, WIDTH - 16
ROWS, DRAWN = 12, 200

# TPosition -> fill: direction of travel by hue and by pattern. Positions outside UB are other memories.
_FILLS = {"VECIN": "blue", "VECOUT": "green/diagonal", "VECCALC": "purple/dots"}
_NOT_UB = {"A1", "B1", "C1", "TSCM", "A2", "B2", "C2", "CO1", "CO2", "GM", "SPM", "C2PIPE2GM"}


@dataclass(frozen=True)
class Buffer:
    """One piece of memory, in bytes."""

    name: str
    pos: str
    addr: int
    bytes: int
    kind: str = "buf"
    index: int = 0

    @property
    def end(self) -> int:
        return self.addr + self.bytes


def _get(item, *names, default=None):
    for name in names:
        value = item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
        if value is not None and not callable(value):  # every tuple has a method `index`
            return value
    return default


def read_buffers(items: Iterable, align: int = 32) -> list[Buffer]:
    """Dicts or objects -> buffers in address order. Raises ValueError on a buffer without `bytes` or
    with a negative number.
    """
    buffers, cursor = [], 0
    for i, item in enumerate(items):
        count = _get(item, "bytes", "size")
        if count is None or int(count) < 0 or int(_get(item, "addr", "address", default=0)) < 0:
            raise ValueError(f"buffer {i} needs bytes >= 0 and addr >= 0, got {item!r}")
        pos = str(_get(item, "pos", "position", default=""))
        addr = int(_get(item, "addr", "address", default=cursor))
        name = str(_get(item, "name", default=pos or f"buffer {i}"))
        kind, group = str(_get(item, "kind", default="buf")), _get(item, "group")
        # a launch knows which queue a slot belongs to, but not the learner's variable
        if name == pos and group is not None:
            name = text("fig_group", kind=text("fig_group_queue") if kind == "queue" else _kind(kind), group=group)
        buffers.append(Buffer(name, pos, addr, int(count), kind, int(_get(item, "index", "slot", default=0))))
        cursor = addr + -(-int(count) // align) * align
    return sorted(buffers, key=lambda b: (b.addr, b.end))


def _kind(kind: str) -> str:
    """In words; a kind of one's own is called what it is called."""
    return text(f"fig_kind_{kind}") if kind in ("queue", "buf", "local") else kind


def blocks_text(count: int, align: int = 32) -> str:
    """'400 B = 12.5 blocks of 32 B: not a multiple, 16 B of padding'."""
    rest = count % align
    key = "fig_blocks_even" if rest == 0 else "fig_blocks_odd"
    return text(
        key,
        bytes=f"{count:,}",
        blocks=f"{count / align:,.5f}".rstrip("0").rstrip("."),
        align=align,
        pad=(-count) % align,
    )


def _lanes(buffers: list[Buffer]) -> list[int]:
    """A lane for each buffer: 0 unless it overlaps one already there.
    Two buffers on one address is legal, and worth seeing.
    """
    ends: list[int] = []
    lanes = []
    for b in buffers:
        lane = next((i for i, end in enumerate(ends) if end <= b.addr), len(ends))
        ends[lane : lane + 1] = [b.end]
        lanes.append(min(lane, 2))
    return lanes


def _free(buffers: list[Buffer], usable: int, align: int) -> list[tuple[int, int]]:
    """Unused [start, end) pieces below `usable`; the padding of a buffer is not free."""
    pieces, cursor = [], 0
    for b in buffers:
        if b.addr > cursor:
            pieces.append((cursor, min(b.addr, usable)))
        cursor = max(cursor, -(-b.end // align) * align)
    pieces.append((cursor, usable))
    return [(a, b) for a, b in pieces if b > a]


def memory_ruler(
    buffers: Iterable,
    size: int = 192 * KB,
    reserved: int = 8 * KB,
    align: int = 32,
    highlight: str | int | None = None,
    zoom: tuple[int, int] | None = None,
    name: str = "UB",
) -> Figure:
    """The ruler. `highlight`: name or number (as in the table) of a buffer to highlight; `zoom=(addr, bytes)`: a look
    at the 32-byte blocks of one tensor's start and tail. All numbers in bytes. Raises ValueError for
    sizes that make no memory.
    """
    if size <= 0 or not 0 <= reserved < size or align <= 0:
        raise ValueError(f"size {size}, reserved {reserved}, align {align}: want size > reserved >= 0 and align > 0")
    items = read_buffers(buffers, align)
    usable = size - reserved
    end = max((b.end for b in items), default=0)
    over = max(0, end - usable)
    pieces = _free(items, usable, align)
    free = sum(b - a for a, b in pieces)
    title = text("fig_ruler_title", name=name, size=size_text(size))
    key = "fig_ruler_over" if over else "fig_ruler_fits"
    finding = text(
        key,
        n=len(items),
        usable=size_text(usable),
        over=f"{over:,}",
        free=size_text(free),
        end=size_text(end),
        share=percent((usable - free) / usable),
    )
    lanes = _lanes(items)
    if any(lanes):
        finding = join(finding, text("fig_ruler_overlap", n=sum(1 for lane in lanes if lane)))

    c = Canvas()
    y = c.heading(title, finding)
    y = _bar(c, y, items, lanes, pieces, size, reserved, end, over, highlight)
    rows, y = _table(c, y, items, align, usable, highlight)
    if zoom:
        sentence, y = _zoom(c, y + 8, *map(int, zoom), align)
        rows.append(sentence)
    return c.figure(title, "\n".join([finding, *rows]), y + 8)


def _bar(c: Canvas, y: float, items, lanes, pieces, size: int, reserved: int, end: int, over: int, highlight) -> float:
    """Ticks, memory, buffers, reserve and budget line; returns the y below."""
    usable, span = size - reserved, max(size, end)

    def x(count: float) -> float:
        return LEFT + (RIGHT - LEFT) * count / span

    height = 44
    lift = 18 if over else 0
    top = y + 18 + lift
    step = KB
    while span / step > 9:
        step *= 2
    for tick in range(0, span + 1, step):
        c.line(x(tick), top - 5, x(tick), top, "l")
        marks = [x(usable), x(size), RIGHT] + [
            x((b.addr + b.end) / 2) for i, b in enumerate(items, 1) if highlight in (i, b.name)
        ]
        if all(abs(x(tick) - mark) >= 24 for mark in marks):
            c.text(x(tick), top - 9, tick // KB if tick else "0", "m s" + (" c" if tick else ""))
    c.text(RIGHT, top - 9, "KB", "m s e")
    c.rect(LEFT, top, x(size) - LEFT, height, cls="o", rx=3)
    for a, b in pieces:
        words = text("fig_free", size=size_text(b - a))
        if fits(words, x(b) - x(a)):
            c.text((x(a) + x(b)) / 2, top + height / 2 + 4, words, "c m")
    if reserved:
        c.rect(
            x(usable),
            top,
            x(size) - x(usable),
            height,
            "grey/back",
            title=text("fig_reserved", size=size_text(reserved)),
        )
    deep = max(lanes, default=0) + 1
    for i, (b, lane) in enumerate(zip(items[:DRAWN], lanes, strict=False), 1):
        h = height / deep
        fill = _FILLS.get(b.pos, "ochre/grid")
        dim = highlight is not None and highlight not in (i, b.name)
        left, wide = x(b.addr), max(x(b.end) - x(b.addr), 0.75)
        c.rect(
            left,
            top + lane * h,
            wide,
            h,
            fill,
            cls="d" if wide > 4 else "",
            rx=min(2, wide / 4),
            opacity=0.3 if dim else 1,
            title=f"{b.name}, {b.bytes:,} B @ {b.addr:,}",
        )
        clear = max(x(min(b.end, usable)) - left, 0)
        for words in (
            ()
            if dim or (i >= ROWS and len(items) > ROWS)
            else (f"{i}  {b.name}  {size_text(b.bytes)}", f"{i} {b.name}", str(i))
        ):
            if c.inside(left, top + lane * h, clear, h, words, fill):
                break
        if highlight is not None and not dim:
            c.rect(left - 1.5, top + lane * h - 1.5, wide + 3, h + 3, cls="k", rx=3)
            c.path(f"M{left + wide / 2:.2f} {top + lane * h - 4:.2f}l5 -8h-10z", extra=' fill="currentColor"')
    if over:
        c.rect(
            x(usable), top - 1, x(end) - x(usable), height + 2, "red/back", title=text("fig_over", bytes=f"{over:,}")
        )
        words = text("fig_over", bytes=f"{over:,}")
        left = min(x(usable), RIGHT - text_width(words) - 24)
        c.warn(left + 9, y + 6)
        c.text(left + 22, y + 11, words, "b")
    _limits(c, x, top, height, usable, size, reserved)
    return top + height + 40


def _limits(c: Canvas, x, top: float, height: float, usable: int, size: int, reserved: int) -> None:
    """The two ends that matter, written under the bar: what may be used, what there is."""
    bottom = top + height
    c.line(x(size), top - 5, x(size), bottom + 7, "l")
    whole = size_text(size)
    right_edge = min(x(size) + text_width(whole, 11) / 2, RIGHT)
    c.text(right_edge, bottom + 19, whole, "s m e")
    if reserved:
        c.line(x(usable), top - 5, x(usable), bottom + 7, "k")
        words = text("fig_usable", size=size_text(usable)) + " + " + text("fig_reserved", size=size_text(reserved))
        edge = right_edge - text_width(whole, 11) - 14
        if edge - text_width(words, 11) >= LEFT:
            c.text(edge, bottom + 19, words, "s e")
        else:
            c.text(right_edge + 14, bottom + 19, words, "s")


def _table(c: Canvas, y: float, items: list[Buffer], align: int, usable: int, highlight) -> tuple[list[str], float]:
    """One row a buffer with the same number as in the bar; returns the rows as text and the y below."""
    columns = (LEFT, 46, 196, 276, 412, 478, 512)
    shown = items if len(items) <= ROWS else items[: ROWS - 1]
    rows = []
    if shown:
        for at, key in zip(columns[1:], ("buffer", "position", "slot", "address", "size"), strict=False):
            c.text(at, y, text(f"fig_{key}"), "s m e" if key in ("address", "size") else "s m")
        y += 8
        c.line(LEFT, y, RIGHT, y, "g")
    for i, b in enumerate(shown, 1):
        y += 19
        if highlight in (i, b.name):
            c.rect(LEFT, y - 13, RIGHT - LEFT, 18, cls="o", rx=3)
        c.rect(LEFT + 3, y - 11, 20, 14, _FILLS.get(b.pos, "ochre/grid"), rx=2)
        c.inside(LEFT + 3, y - 11, 20, 14, str(i), _FILLS.get(b.pos, "ochre/grid"), size=11)
        kind = _kind(b.kind)
        slot = f"{kind} {b.index}" if b.kind == "queue" else kind
        note = []
        wrong = b.addr % align or b.end > usable
        if b.addr % align:
            note.append(text("fig_start_off", align=align, rest=b.addr % align))
        if b.bytes % align:
            note.append(text("fig_pad", pad=(-b.bytes) % align, align=align))
        if b.end > usable:
            note.append(text("fig_beyond", size=size_text(usable)))
        c.text(columns[1], y, shorten(b.name, 144, 12.5), "b")
        c.text(columns[2], y, shorten(b.pos, 76))
        c.text(columns[3], y, shorten(slot, 92))
        c.text(columns[4], y, f"{b.addr:,}", "e")
        c.text(columns[5], y, size_text(b.bytes), "e")
        if note:
            if wrong:
                c.warn(columns[6] - 12, y - 4)
            c.text(columns[6] + 2, y, shorten("; ".join(note), RIGHT - columns[6] - 2, 11), "s")
        where = f" {b.pos}" if b.pos and b.pos != b.name else ""
        rows.append(
            f"{i} {b.name}{where}, {slot}: {b.bytes:,} B @ {b.addr:,}" + (f" ({'; '.join(note)})" if note else "")
        )
    if len(shown) < len(items):
        y += 19
        rest = items[len(shown) :]
        rows.append(text("fig_more_buffers", n=len(rest), size=size_text(sum(b.bytes for b in rest))))
        c.text(columns[1], y, rows[-1], "m")
    return rows, y + (12 if shown else 0)


def _zoom(c: Canvas, y: float, addr: int, count: int, align: int) -> tuple[str, float]:
    """The blocks at the start (where misaligned) and the tail of [addr, addr + count)."""
    if count <= 0 or addr < 0:
        raise ValueError(f"zoom=(addr, bytes) wants addr >= 0 and bytes > 0, got ({addr}, {count})")
    sentence = blocks_text(count, align)
    if addr % align:
        sentence = join(sentence, text("fig_zoom_start", addr=f"{addr:,}", align=align, rest=addr % align))
    c.line(LEFT, y, RIGHT, y, "g")
    y += 20
    c.text(LEFT, y, text("fig_zoom", addr=f"{addr:,}"), "b")
    y += 18
    for row in wrap(sentence, RIGHT - LEFT):
        c.text(LEFT, y, row, "m")
        y += 16
    y -= 16
    first, last = addr // align, (addr + count - 1) // align
    blocks = list(range(first, last + 1))
    if len(blocks) > 4:
        blocks = [first, None, *range(last - 1, last + 1)] if addr % align else [None, *range(last - 2, last + 1)]
    gap, dots, y = 10, 66, y + 14
    holes = blocks.count(None)
    wide = min(212.0, (RIGHT - LEFT - holes * (dots + gap) - (len(blocks) - holes - 1) * gap) / (len(blocks) - holes))
    x, skipped = float(LEFT), last - first + 1 - (len(blocks) - holes)
    for block in blocks:
        if block is None:
            c.text(x + dots / 2, y + 18, f"… {skipped} …", "c m s")
            x += dots + gap
            continue
        start = block * align
        used = (max(addr, start), min(addr + count, start + align))
        px = wide / align
        c.rect(x, y, wide, 30, cls="o")
        parts = (
            (start, used[0], "red/back", "fig_zoom_off"),
            (*used, "blue", "fig_zoom_used"),
            (used[1], start + align, "grey/diagonal", "fig_zoom_pad"),
        )
        for a, b, fill, key in parts:
            if b > a:
                words = text(key, bytes=b - a)
                left, part = x + (a - start) * px, (b - a) * px
                c.rect(left, y, part, 30, fill, title=words)
                c.inside(left, y, part, 30, words, fill, size=11) or c.inside(
                    left, y, part, 30, str(b - a), fill, size=11
                )
        for at in range(4, align, 4):
            c.line(
                x + at * px,
                y + (25 if at % 16 else 21),
                x + at * px,
                y + 30,
                extra=' stroke="#fff" stroke-opacity=".8"',
                cls="",
            )
        c.text(x, y + 44, f"{start:,}", "s m")
        c.text(x + wide, y + 44, f"{start + align - 1:,}", "s m e")
        x += wide + gap
    return sentence, y + 52


def memory_ruler_from_record(record, highlight: str | int | None = None, zoom: tuple[int, int] | None = None) -> Figure:
    """The UB as a launch left it: `record.buffers` that live in UB, against `record.ub_size`."""
    if (none := absent(record)) is not None:
        return none
    in_ub = [b for b in record.buffers if str(_get(b, "pos", "position", default="")) not in _NOT_UB]
    # a loop may allocate one place many times
    once = {(_get(b, "addr"), _get(b, "bytes"), _get(b, "pos", "position")): b for b in in_ub}
    return memory_ruler(once.values(), size=int(record.ub_size), highlight=highlight, zoom=zoom)
