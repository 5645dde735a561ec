"""Pictures of a fusion report: the graph with its groups, traffic bars, timelines before and after, a waterfall.

Pure functions from a Report to deterministic SVG, with the words of labkit/figures: each has a title and a description
that say the same. Times are modelled, and the pictures say so.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import fx

from labkit.device import Piece
from labkit.figures.streams import FILLS
from labkit.figures.svg import WIDTH, Canvas, Figure
from labkit.figures.timeline import time_axis
from labkit.figures.words import join, percent, shorten, size_text, text_width, time_text
from labkit.fusion.groups import is_view
from labkit.fusion.spelling import name_of
from labkit.messages import text

LEFT, RIGHT = 16, WIDTH - 16
HUES = ("blue", "green", "purple", "ochre", "teal", "violet", "orange")
BOX, ROW, GAP = 22, 38, 14
MOST = 90  # boxes that a picture can hold and still be read


# ---- the graph


def graph_picture(report) -> Figure:
    """Operators from top to bottom in layers, the groups that one kernel could do in one colour each; a dashed outline
    where the report does not recommend it."""
    group_of = {node: i for i, g in enumerate(report.groups) for node in g.group.nodes}
    nodes = [n for n in report.graph.nodes if name_of(n) and not is_view(n)] if report.graph is not None else []
    left_out = max(0, len(nodes) - MOST)
    nodes = nodes[:MOST]
    feeds = {n: [s for s in _sources(n) if s in nodes] for n in nodes}
    rows = _layers(nodes, feeds)
    title = text("fusion.fig.graph", chip=report.chip)
    finding = join(
        text("fusion.fig.graph_finding", n=len(nodes) + left_out, groups=len(report.groups), m=len(report.recommended)),
        text("fusion.fig.modelled"),
        *([text("fusion.fig.left_out", n=left_out)] if left_out else []),
    )
    c = Canvas()
    y = c.heading(title, finding) + 10
    place: dict[fx.Node, tuple[float, float, float]] = {}
    for i, row in enumerate(rows):
        widths = [min(170.0, text_width(name_of(n), 12, bold=True) + 18) for n in row]
        at = LEFT + (RIGHT - LEFT - 150 - sum(widths) - GAP * (len(row) - 1)) / 2
        for n, wide in zip(row, widths):
            place[n] = (at, y + i * ROW, wide)
            at += wide + GAP
    for n in nodes:
        x, top, wide = place[n]
        for s in feeds[n]:
            sx, sy, sw = place[s]
            between = [p for p in place.values() if sy < p[1] < top and p[0] < x + wide and p[0] + p[2] > min(sx, x)]
            if between and top - sy > ROW:  # around what stands in the way
                side = max(p[0] + p[2] for p in (*between, place[s], place[n])) + 12
                c.arrow(
                    [(sx + sw, sy + BOX / 2), (side, sy + BOX / 2), (side, top + BOX / 2), (x + wide, top + BOX / 2)]
                )
                continue
            same = group_of.get(n, -1) == group_of.get(s, -2)
            c.arrow([(sx + sw / 2, sy + BOX), (x + wide / 2, top)], "k" if same else "l")
    for n in nodes:
        x, top, wide = place[n]
        i = group_of.get(n)
        if i is None:
            c.rect(x, top, wide, BOX, cls="o", rx=4, title=n.name)
            c.text(x + wide / 2, top + 15, shorten(name_of(n), wide - 8), "c")
            continue
        kept = report.groups[i].recommended
        fill = HUES[i % len(HUES)]
        if kept:
            c.rect(x, top, wide, BOX, fill, rx=4, title=f"{report.groups[i].name}: {n.name}")
            c.inside(x, top, wide, BOX, shorten(name_of(n), wide - 8), fill)
        else:
            c.rect(x, top, wide, BOX, None, cls="x", rx=4, title=f"{report.groups[i].name}: {n.name}")
            c.text(x + wide / 2, top + 15, shorten(name_of(n), wide - 8), "c")
    seen: dict[int, float] = {}
    for n in nodes:  # the group's number beside its first operator
        i = group_of.get(n)
        if i is not None and i not in seen:
            seen[i] = place[n][1]
    at = y
    for i, top in sorted(seen.items(), key=lambda pair: pair[1]):
        g = report.groups[i]
        at = max(at, top)
        _key(c, RIGHT - 150, at, g, HUES[i % len(HUES)])
        at += 32
    rows_said = [
        f"{g.name}: {', '.join(g.operators)}; {text('fusion.fig.yes' if g.recommended else 'fusion.fig.no')}"
        for g in report.groups
    ]
    return c.figure(title, "\n".join([finding, *rows_said]), max(y + len(rows) * ROW, at) + 8)


def _key(c: Canvas, x: float, y: float, g, fill: str) -> None:
    c.rect(x, y + 3, 12, 12, fill if g.recommended else None, cls="" if g.recommended else "x", rx=2)
    c.text(x + 18, y + 13, shorten(g.name, 132), "s b")
    c.text(x + 18, y + 26, text("fusion.fig.key", saved=percent(max(0.0, g.saved)), gain=f"{g.speedup:.2f}"), "s m")


def _sources(node: fx.Node) -> list[fx.Node]:
    """Operators whose results it reads, through views."""
    found: list[fx.Node] = []
    for n in node.all_input_nodes:
        while is_view(n) and n.all_input_nodes:
            n = n.all_input_nodes[0]
        if n not in found:
            found.append(n)
    return found


def _layers(nodes: Sequence[fx.Node], feeds) -> list[list[fx.Node]]:
    """Each operator one row below the lowest of those that it reads; in a row by where their arguments stand. At most
    five a row, so that their names can be read."""
    level: dict[fx.Node, int] = {}
    for n in nodes:
        level[n] = max((level[s] + 1 for s in feeds[n]), default=0)
    count: dict[int, int] = {}
    for n in nodes:  # a full row hands on what it has no room for
        low = max((level[s] + 1 for s in feeds[n]), default=level[n])
        while count.get(low, 0) >= 5:
            low += 1
        level[n] = low
        count[low] = count.get(low, 0) + 1
    rows = [[n for n in nodes if level[n] == i] for i in range(max(level.values(), default=-1) + 1)]
    order: dict[fx.Node, float] = {}
    for row in rows:
        row.sort(key=lambda n: sum(order.get(s, 0.0) for s in feeds[n]) / max(1, len(feeds[n])))
        for i, n in enumerate(row):
            order[n] = (i + 0.5) / len(row)
    return rows


# ---- bars


def traffic_bars(report) -> Figure:
    """Bytes of each group before and after, side by side; the rule as a mark on the bar before."""
    title = text("fusion.fig.bars", chip=report.chip)
    finding = join(
        text(
            "fusion.fig.bars_finding",
            before=size_text(sum(p.bytes for p in report.before.pieces)),
            after=size_text(sum(p.bytes for p in report.after.pieces)),
        ),
        text("fusion.fig.modelled"),
    )
    c = Canvas()
    y = c.heading(title, finding) + 8
    most = max((g.before.bytes for g in report.groups), default=1.0)
    start, room = 210.0, RIGHT - 210.0 - 170
    rows = []
    for i, g in enumerate(report.groups):
        fill = HUES[i % len(HUES)]
        c.text(LEFT, y + 20, shorten(g.name, start - LEFT - 8), "b")
        for k, (cost, pattern) in enumerate(((g.before, "/diagonal"), (g.after, ""))):
            wide = max(1.0, room * cost.bytes / most)
            c.rect(start, y + 15 * k, wide, 13, fill + pattern, rx=2, title=size_text(cost.bytes))
            c.text(
                start + wide + 6,
                y + 15 * k + 11,
                text(f"fusion.fig.{('before', 'after')[k]}", size=size_text(cost.bytes)),
                "s",
            )
        if g.threshold:
            at = start + room * g.before.bytes * (1 - g.threshold) / most
            c.line(at, y - 3, at, y + 14, "k", ' stroke-dasharray="3 2"')
        c.text(RIGHT, y + 20, percent(max(0.0, g.saved)), "e b")
        said = text(
            "fusion.fig.bars_row",
            before=size_text(g.before.bytes),
            after=size_text(g.after.bytes),
            saved=percent(max(0.0, g.saved)),
        )
        rows.append(f"{g.name}: {said}")
        y += 42
    if report.threshold:
        c.text(start, y + 6, text("fusion.fig.rule", share=percent(1 - report.threshold)), "s m")
        y += 14
    return c.figure(title, "\n".join([finding, *rows]), y + 8)


# ---- timelines


def timelines(report) -> Figure:
    """The device's work before and after on one scale; a gap is time in which the device waits for the host."""
    title = text("fusion.fig.time", chip=report.chip)
    finding = join(
        text(
            "fusion.fig.time_finding",
            before=time_text(report.before.span_us),
            after=time_text(report.after.span_us),
            gain=f"{report.speedup:.2f}",
            idle=time_text(_idle(report.before)),
            less=time_text(_idle(report.after)),
        ),
        text("fusion.fig.modelled"),
    )
    c = Canvas()
    y = c.heading(title, finding) + 10
    top, left, right = y, 92.0, float(RIGHT)
    most = max(report.before.span_us, report.after.span_us) or 1.0
    per_px = most / (right - left)
    mark = c.mark()
    rows = []
    for word, run in (("before", report.before), ("after", report.after)):
        c.text(LEFT, y + 17, text(f"fusion.fig.{word}_word"), "b")
        c.rect(left, y + 3, right - left, 22, cls="q", rx=2)
        start = min((p.start_us for p in run.pieces), default=0.0)
        for p in run.pieces:
            _piece(c, p, left + (p.start_us - start) / per_px, y + 3, max(p.us / per_px, 0.6))
        rows.append(
            text(
                "fusion.fig.time_row",
                which=text(f"fusion.fig.{word}_word"),
                n=len(run.pieces),
                span=time_text(run.span_us),
                busy=time_text(run.busy_us),
            )
        )
        y += 34
    time_axis(c, 0.0, most, left, right, top, y, mark, text("fig_modelled"))
    x, y = LEFT, y + 50
    for engine in ("vector", "cube", "cores"):
        words = text(f"fig_engine_{engine}")
        c.rect(x, y - 10, 18, 12, FILLS[engine], rx=2)
        c.text(x + 24, y, words, "s")
        x += 24 + text_width(words, 11) + 30
    return c.figure(title, "\n".join([finding, *rows]), y + 14)


def _idle(run) -> float:
    return max(0.0, round(run.span_us - run.busy_us, 6))


def _piece(c: Canvas, p: Piece, x: float, y: float, wide: float) -> None:
    fill = FILLS.get(p.engine, "grey")
    name = p.name.removeprefix("aten::")
    c.rect(x, y, wide, 22, fill, cls="d" if wide > 5 else "", title=f"{name} ({p.engine}) {time_text(p.us)} us")
    if wide > 18:
        c.inside(x, y, wide, 22, name, fill, size=11)


# ---- where the gain comes from


def waterfall(report, group: int | None = None) -> Figure:
    """From the time before to the time after, one step for each place that it came from. group: the number of a group,
    from 0; None: the whole model, whose steps then are those of the recommended groups, of the other operators, and the
    waiting for the host.
    """
    if group is None:
        name, start, end = text("fusion.fig.whole"), report.before.span_us, report.after.span_us
        chosen = report.recommended
        steps = [(k, sum(g.waterfall[k] for g in chosen)) for k in ("launches", "computing", "moving")]
        others = report.before.busy_us - report.after.busy_us - sum(v for _, v in steps)
        idle = start - end - (report.before.busy_us - report.after.busy_us)
        steps += [(key, v) for key, v in (("others", others), ("host", idle)) if abs(v) > 1e-6]
    else:
        g = report.groups[group]
        name, start, end, steps = g.name, g.before.us, g.after.us, list(g.waterfall.items())
    title = text("fusion.fig.waterfall", name=name, chip=report.chip)
    gain = start / end if end else 1.0
    finding = join(
        text("fusion.fig.waterfall_finding", before=time_text(start), after=time_text(end), gain=f"{gain:.2f}"),
        text("fusion.fig.modelled"),
    )
    c = Canvas()
    y = c.heading(title, finding) + 10
    left, room = 230.0, RIGHT - 230.0 - 90
    levels = [start]
    for _, v in steps:
        levels.append(levels[-1] - v)
    scale = room / (max(levels) or 1.0)
    c.text(LEFT, y + 15, text("fusion.fig.before_word"), "b")
    c.rect(left, y, start * scale, 20, "grey", rx=2)
    c.text(left + start * scale + 6, y + 15, f"{time_text(start)} us")
    said = []
    for (key, v), level in zip(steps, levels):
        y += 30
        a, b = sorted((level, level - v))
        words = text(f"fusion.fig.step_{key}")
        c.text(LEFT, y + 15, words)
        c.line(left + level * scale, y - 10, left + level * scale, y + 20, "l", ' stroke-dasharray="2 2"')
        c.rect(left + a * scale, y, max(0.8, (b - a) * scale), 20, "green" if v >= 0 else "red/diagonal", rx=2)
        amount = f"{'-' if v > 0 else '+' if v < 0 else ''}{time_text(abs(v))} us"
        c.text(left + b * scale + 6, y + 15, amount)
        said.append(f"{words}: {amount}")
    y += 30
    c.text(LEFT, y + 15, text("fusion.fig.after_word"), "b")
    c.rect(left, y, end * scale, 20, "blue", rx=2)
    c.text(left + end * scale + 6, y + 15, f"{time_text(end)} us")
    return c.figure(title, "\n".join([finding, *said]), y + 34)
