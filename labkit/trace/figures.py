"""The report's pictures: a step on the device, where its time goes, and the tree of modules. Deterministic SVG."""

from __future__ import annotations

import math

import numpy as np

from labkit.figures.svg import WIDTH, Canvas, Figure, number
from labkit.figures.words import shorten
from labkit.messages import text
from labkit.trace import find_steps, idle, intervals, model
from labkit.trace.finding import time
from labkit.trace.module_tree import Node, tree

LEFT, RIGHT = 190, WIDTH - 20
# a colour and a pattern for each: no part is told by its colour alone
FILLS = {
    "computing": "blue", "communication": "purple", "copy": "ochre", "synchronisation": "red/diagonal",
    "host": "orange/back", "compile": "violet/grid", "allocator": "teal/dots", "data": "green/bars", "device": "grey",
    "unknown": "grey/diagonal",
}  # fmt: skip
MOST_BARS = 260  # of a lane: a page holds no more that can be told apart


def shares(trace: model.Trace, account: idle.Idle) -> dict[str, float]:
    """µs of the recording by what the device did, in the order of the legend."""
    found = {"computing": account.busy} | {cause: account.total(cause) for cause in idle.CAUSES}
    return {name: us for name, us in found.items() if us > 0}


def share_bar(trace: model.Trace, account: idle.Idle) -> Figure:
    """One bar: the whole recording by what the device did or waited for."""
    parts, whole = shares(trace, account), max(account.length, 1e-9)
    title = text("trace.fig.share_title", word=text(f"trace.word.{trace.word}"))
    lines = [f"{text('trace.cause.' + name)}: {100 * us / whole:.1f} % ({time(us)})" for name, us in parts.items()]
    canvas = Canvas()
    top = canvas.heading(title, text("trace.fig.share", busy=f"{100 * account.busy / whole:.0f} %", length=time(whole)))
    x, width = 16.0, WIDTH - 32
    for name, us in parts.items():
        w = width * us / whole
        canvas.rect(x, top + 4, w, 34, FILLS[name], title=lines[list(parts).index(name)])
        canvas.inside(x, top + 4, w, 34, f"{100 * us / whole:.0f} %", FILLS[name])
        x += w
    y, x = top + 62, 16.0
    for name, line in zip(parts, lines):
        wide = 300
        if x + wide > WIDTH:
            x, y = 16.0, y + 22
        canvas.rect(x, y - 11, 14, 14, FILLS[name])
        canvas.text(x + 20, y, shorten(line, wide - 24), "s")
        x += wide + 10
    return canvas.figure(title, "\n".join(lines), y + 14)


def chosen_step(trace: model.Trace) -> tuple[str, float, float]:
    """(name, start, end) of the step nearest to the median; the whole recording where there are no steps."""
    numbers, values = find_steps.times(trace)
    _, ends = find_steps.ends(trace)
    if len(values) and len(ends) >= 2:
        i = int(np.argmin(np.abs(values - np.median(values))))
        return str(numbers[i]), float(ends[i]), float(ends[i + 1])
    start, end = trace.window()
    return "", start, end


def _bars(starts: np.ndarray, ends: np.ndarray, names: list[str], start: float, end: float, scale: float):
    """(start, end, label) of bars that can be seen: neighbours nearer than a third of a pixel become one."""
    inside = (ends > start) & (starts < end)
    starts, ends = np.maximum(starts[inside], start), np.minimum(ends[inside], end)
    names = [n for n, i in zip(names, inside) if i]
    near = max(0.33 / scale, (end - start) / MOST_BARS / 3)
    found: list[list] = []
    for i in np.argsort(starts, kind="stable"):
        if found and starts[i] - found[-1][1] < near:
            found[-1][1] = max(found[-1][1], ends[i])
            found[-1][2] += 1
            if ends[i] - starts[i] > found[-1][4]:
                found[-1][3], found[-1][4] = names[i], ends[i] - starts[i]
        else:
            found.append([starts[i], ends[i], 1, names[i], ends[i] - starts[i]])
    return [(s, e, f"{name} + {n - 1}" if n > 1 else name) for s, e, n, name, _ in found]


def step_timeline(trace: model.Trace, account: idle.Idle) -> Figure:
    """One step: a lane a stream, copies, communication, when the host waited, and the gaps by cause."""
    which, start, end = chosen_step(trace)
    scale = (RIGHT - LEFT) / max(end - start, 1e-9)
    lanes: list[tuple[str, list, str]] = []
    kernels = trace.compute()
    for (stream,), part in sorted(kernels.partition_by("stream", as_dict=True).items(), key=lambda p: str(p[0])):
        bars = _bars(
            part["start"].to_numpy(), model.ends(part), part["name"].fill_null("?").to_list(), start, end, scale
        )
        if bars and len(lanes) < 8:
            lanes.append((text("trace.fig.stream", stream=stream if stream is not None else "?"), bars, "blue"))
    for name, table, fill in (("communication", trace.comm, "purple"), ("copy", trace.copies(), "ochre")):
        if table.height:
            bars = _bars(
                table["start"].to_numpy(), model.ends(table), table["name"].fill_null("?").to_list(), start, end, scale
            )
            if bars:
                lanes.append((text("trace.cause." + name), bars, fill))
    waits = account.blocked
    if bars := _bars(*waits, [text("trace.fig.waits")] * len(waits[0]), start, end, scale):
        lanes.append((text("trace.fig.waits"), bars, "red/diagonal"))
    for cause in idle.CAUSES:
        some = (account.parts[cause] > 0) & (account.ends > start) & (account.starts < end)
        if cause in ("communication", "copy") or account.parts[cause][some].sum() * scale < 1:
            continue
        bars = _bars(
            account.starts[some],
            account.ends[some],
            [text("trace.cause." + cause)] * int(some.sum()),
            start,
            end,
            scale,
        )
        lanes.append((text("trace.fig.gap", cause=text("trace.cause." + cause)), bars, FILLS[cause]))
    title = text("trace.fig.step_title", step=which or "-", word=text(f"trace.word.{trace.word}"))
    busy = float(intervals.covered([start], [end], trace.busy())[0])
    finding = text("trace.fig.step", length=time(end - start), busy=f"{100 * busy / max(end - start, 1e-9):.0f} %")
    canvas = Canvas()
    y = canvas.heading(title, finding) + 4
    first, lines = y, [finding]
    for name, bars, fill in lanes:
        canvas.text(LEFT - 8, y + 15, shorten(name, LEFT - 20, 11), "s e")
        canvas.add(f'<g transform="translate({number(LEFT)} {number(y)})">')
        for s, e, label in bars:
            canvas.bar((s - start) * scale, 0, max((e - s) * scale, 0.4), 20, f"{label}: {time(e - s)}", fill)
        canvas.add("</g>")
        lines.append(f"{name}: {len(bars)} bars, {time(sum(e - s for s, e, _ in bars))}")
        y += 27
    for i in range(6):
        x = LEFT + (RIGHT - LEFT) * i / 5
        canvas.line(x, first - 3, x, y, "g")
        canvas.text(x, y + 15, time((end - start) * i / 5) if i else "0", "s c" if 0 < i < 5 else "s e" if i else "s")
    return canvas.figure(title, "\n".join(lines), y + 26)


RINGS = 4
_HUES = ("blue", "green", "purple", "ochre", "orange", "teal", "violet", "red")
_KINDS = ("", "/diagonal", "/dots", "/bars", "/back")


def sunburst(trace: model.Trace, root: Node | None = None) -> Figure:
    """The tree of modules and operators: an arc's angle is its share of the kernels' time. The largest are numbered."""
    root = root or tree(trace)
    title = text("trace.fig.tree_title", word=text(f"trace.word.{trace.word}"))
    canvas = Canvas()
    first = root.ordered()[0] if root.children else Node("-")
    finding = text("trace.fig.tree", name=first.name, share=f"{100 * first.us / max(root.us, 1e-9):.0f} %")
    top = canvas.heading(title, finding)
    radius = 168.0
    cx, cy, ring = 16 + radius, top + radius + 6, radius / (RINGS + 1)
    listed: list[tuple[Node, str, str, float, float, int]] = []

    def draw(node: Node, at: float, depth: int, fill: str, path: str) -> None:
        for i, child in enumerate(node.ordered()):
            turn = child.us / max(root.us, 1e-9)
            if turn * 2 * math.pi * ring * (depth + 1) < 1.5:
                continue  # thinner than can be seen
            paint = fill or _HUES[i % len(_HUES)]
            shown = paint + (_KINDS[(depth if fill else 0) % len(_KINDS)] if depth else "")
            name = f"{path} > {child.name}" if path else child.name
            _arc(
                canvas,
                cx,
                cy,
                ring * (depth + 1),
                ring * (depth + 2) - 1.2,
                at,
                turn,
                shown,
                f"{name}: {time(child.us)}",
            )
            listed.append((child, name, shown, at, turn, depth))
            if depth + 1 < RINGS:
                draw(child, at, depth + 1, paint, name)
            at += turn

    draw(root, 0.0, 0, "", "")
    biggest = sorted(listed, key=lambda entry: (-entry[0].us, entry[5], entry[1]))[:14]
    lines = [finding]
    x, y = cx + radius + 28, top + 18
    for i, (node, name, fill, at, turn, depth) in enumerate(biggest, 1):
        angle, r = 2 * math.pi * (at + turn / 2) - math.pi / 2, ring * (depth + 1.5)
        if turn * 2 * math.pi * r > 13:
            px, py = cx + r * math.cos(angle), cy + r * math.sin(angle)
            canvas.rect(px - 8, py - 8, 16, 16, fill.partition("/")[0], rx=8)
            canvas.text(px, py + 4, i, "w c s")
        share = f"{100 * node.us / max(root.us, 1e-9):.0f} %"
        canvas.rect(x, y - 11, 14, 14, fill)
        canvas.text(x + 20, y, shorten(f"{i}  {share}  {name.split(' > ')[-1]}", WIDTH - x - 30), "s")
        lines.append(f"{i}. {name}: {share}, {time(node.us)}, {node.kernels} kernels")
        y += 23
    return canvas.figure(title, "\n".join(lines), max(cy + radius, y) + 14)


def _arc(canvas: Canvas, cx, cy, inner, outer, at, turn, fill, tip) -> None:
    turn = min(turn, 0.9999)
    a, b = 2 * math.pi * at - math.pi / 2, 2 * math.pi * (at + turn) - math.pi / 2
    large = 1 if turn > 0.5 else 0

    def point(r, angle):
        return f"{number(cx + r * math.cos(angle))} {number(cy + r * math.sin(angle))}"

    from xml.sax.saxutils import escape

    d = (
        f"M{point(outer, a)}A{number(outer)} {number(outer)} 0 {large} 1 {point(outer, b)}"
        f"L{point(inner, b)}A{number(inner)} {number(inner)} 0 {large} 0 {point(inner, a)}z"
    )
    canvas.add(f'<path d="{d}"{canvas.fill(fill)}><title>{escape(tip)}</title></path>')


def steps_chart(trace: model.Trace) -> Figure | None:
    """A bar for each step; None for less than two."""
    numbers, values = find_steps.times(trace)
    if len(values) < 2:
        return None
    median, most = float(np.median(values)), float(values.max())
    title = text("trace.fig.steps_title", word=text(f"trace.word.{trace.word}"))
    finding = text("trace.fig.steps", median=time(median), least=time(float(values.min())), most=time(most))
    canvas = Canvas()
    top = canvas.heading(title, finding) + 6
    values, numbers = values[:120], numbers[:120]
    wide = (RIGHT - LEFT) / len(values)
    for i, (n, v) in enumerate(zip(numbers, values)):
        h = 110 * v / most
        canvas.bar(LEFT + i * wide, top + 110 - h, max(wide - 2, 0.6), h, f"step {n}: {time(v)}", "blue")
    y = top + 110 - 110 * median / most
    canvas.line(LEFT, y, RIGHT, y, "x")
    canvas.text(LEFT - 6, y + 4, time(median), "s e")
    canvas.text(LEFT, top + 128, f"step {numbers[0]}", "s")
    canvas.text(RIGHT, top + 128, f"step {numbers[-1]}", "s e")
    return canvas.figure(
        title, finding + "\n" + "\n".join(f"step {n}: {time(v)}" for n, v in zip(numbers, values)), top + 140
    )


__all__ = ["share_bar", "shares", "step_timeline", "steps_chart", "sunburst"]
