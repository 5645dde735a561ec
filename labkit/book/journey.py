"""The map of the journey: the notebooks, and what each needs before it. Drawn from the sources."""

from __future__ import annotations

from collections.abc import Iterable

from labkit import messages
from labkit.book.chapters import Chapter, Stage, chapters, reduced, stages
from labkit.figures.svg import WIDTH, Canvas, Figure, number
from labkit.figures.words import join, shorten, wrap

LEFT, TOP_GAP, BOX, PITCH = 16, 24, 72, 122
MOST, NEXT = 7, 102  # boxes in a line, and from a line of a stage to its next
FILLS = ("grey", "blue", "teal", "violet", "green", "ochre", "purple")


def journey(of: Iterable[Chapter] | None = None, parts: Iterable[Stage] | None = None) -> Figure:
    """The map of the notebooks: one row a stage, of as many lines as it needs, an arrow to each that needs a notebook.

    An arrow that follows from two others is left out, and one over a whole line is written into the notebook's box; the
    figure's text has every need.
    Raises ValueError where a notebook needs one that is not there.
    """
    every = tuple(of) if of is not None else chapters()
    rows = {s.number: s for s in (tuple(parts) if parts is not None else stages())}
    way = [c for c in every if not c.beside]
    graph = {c.number: c.needs for c in way}
    for name, wanted in graph.items():
        for other in wanted:
            if other not in graph:
                raise ValueError(f"notebook {name} needs {other}, which is not there; correct its first paragraph")
    lang = messages.language()
    title = messages.text("book.map")
    finding = join(
        messages.text("book.map-finding", count=len(way), minutes=sum(c.minutes for c in way)),
        messages.text("book.map-how"),
    )
    canvas = Canvas()
    y = canvas.heading(title, finding) + 8
    place: dict[str, tuple[float, float, float]] = {}  # number -> left, top, width
    behind, drawn = canvas.mark(), reduced(graph)
    line_of: dict[str, int] = {}  # number -> how many lines of boxes stand above it
    line = 0
    for row, (stage, told) in enumerate(rows.items()):
        canvas.text(LEFT, y + TOP_GAP - 8, f"{stage} {told.title[lang]}: {told.able[lang]}", "b s")
        for inside in _in_lines([c for c in way if c.stage == stage]):
            wide = min(130.0, (WIDTH - 2 * LEFT + 14) / max(len(inside), 1) - 14)
            for at, chapter in enumerate(inside):
                place[chapter.number] = (LEFT + at * (wide + 14), y + TOP_GAP, wide)
                line_of[chapter.number] = line
                far = [n for n in drawn[chapter.number] if line - line_of[n] > 1]
                _box(canvas, chapter, place[chapter.number], FILLS[row % len(FILLS)], far)
            line, y = line + 1, y + NEXT
        y += PITCH - NEXT
    for name, wanted in drawn.items():
        for other in wanted:
            if line_of[name] - line_of[other] <= 1:
                _arrow(canvas, place[other], place[name], behind)
    lines = [finding]
    for stage, told in rows.items():
        lines.append(f"{stage} {told.title[lang]}: {told.able[lang]}")
        for c in (c for c in way if c.stage == stage):
            wanted = (
                messages.text("book.needs", needs=", ".join(c.needs)) if c.needs else messages.text("book.no-needs")
            )
            lines.append(f"  {c.number} {c.name}, {messages.text('book.minutes', minutes=c.minutes)}, {wanted}")
        to = next((c for c in every if c.number == told.to), None)
        if to:
            lines.append("  " + messages.text("book.skip", easy=told.easy[lang], to=f"{to.number} {to.name}"))
    return canvas.figure(title, "\n".join(lines), y + 6)


def _in_lines(inside: list[Chapter]) -> list[list[Chapter]]:
    """Lines of at most MOST, as even as can be; one empty line where a stage has no notebook."""
    lines = max(1, -(-len(inside) // MOST))
    long = -(-len(inside) // lines)
    return [inside[at * long : (at + 1) * long] for at in range(lines)]


def _box(canvas: Canvas, chapter: Chapter, where: tuple[float, float, float], fill: str, far: list[str]) -> None:
    x, y, wide = where
    needs = messages.text("book.needs", needs=", ".join(chapter.needs)) if chapter.needs else ""
    canvas.rect(x, y, wide, BOX, fill, rx=4, title=f"{chapter.number} {chapter.name}. {needs}".strip())
    canvas.text(x + 6, y + 15, chapter.number, "w")
    room = (wide - 10) / 1.07  # the white text is bold
    said = wrap(chapter.name, room, 11)
    most = 2 if far else 3
    if len(said) > most:
        said = [*said[: most - 1], shorten(" ".join(said[most - 1 :]), room, 11)]
    for at, line in enumerate(said):
        canvas.text(x + 6, y + 30 + 12 * at, shorten(line, room, 11), "w s")
    if far:
        canvas.text(x + 6, y + BOX - 7, shorten(messages.text("book.after", needs=", ".join(far)), room, 11), "w s")


def _arrow(canvas: Canvas, start: tuple, end: tuple, behind: int) -> None:
    """Beside each other in a row: a stroke through the gap. In one row: an arc above it. Else a curve behind all."""
    (x1, y1, w1), (x2, y2, w2) = start, end
    if y1 == y2 and x2 - (x1 + w1) < 20:
        _head(canvas, f"M{number(x1 + w1)} {number(y1 + BOX / 2)}H{number(x2 - 6)}", x2, y2 + BOX / 2, "right", behind)
    else:
        arc = y1 == y2
        a, b, low = (x1 + w1 * 0.7, x2 + w2 * 0.3, y1 + BOX) if arc else (x1 + w1 / 2, x2 + w2 / 2, y1 + BOX)
        bend = max(30.0, (y2 - low) / 2)
        points = ((a, low + 22), (b, low + 22), (b, low + 6)) if arc else ((a, low + bend), (b, y2 - bend), (b, y2 - 6))
        curve = f"M{number(a)} {number(low)}C" + " ".join(f"{number(x)} {number(y)}" for x, y in points)
        _head(canvas, curve, b, low if arc else y2, "up" if arc else "down", behind)


def _head(canvas: Canvas, path: str, x: float, y: float, way: str, behind: int) -> None:
    back = {"right": (-7, -4, 0, 8), "down": (-4, -7, 8, 0), "up": (-4, 7, 8, 0)}[way]
    head = f"M{number(x)} {number(y)}l{back[0]} {back[1]}l{back[2]} {back[3]}z"
    canvas.path(path, "l", extra=' stroke-width="1.3"', at=behind)
    canvas.add(f'<path d="{head}" fill="currentColor"/>')
