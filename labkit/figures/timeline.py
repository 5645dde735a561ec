"""The pipe timeline: one lane a pipe, one bar an instruction, on a time axis that says whether it
is modelled or measured.

Contract. Bars are clipped to the window; neighbours too small to see become one striped bar that says how many they
are. The share at the right of a lane is the part of the window in which the pipe is busy. A race is a numbered red
triangle at its instruction, tied to the instruction it is not ordered against, and spelled out below.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labkit.figures.svg import MAX_BYTES, WIDTH, Canvas, Figure, absent, number
from labkit.figures.trace import Lane, Trace, lanes_of, marks_of, merge_all, overlap, read_trace
from labkit.figures.words import fits, join, percent, shorten, text_width, ticks, time_text
from labkit.messages import text

LEFT, RIGHT, EDGE = 116, 682, WIDTH - 16
PITCH, BAR = 36, 22

FILLS = {"MTE2": "blue", "V": "purple", "MTE3": "green", "S": "grey", "MTE1": "teal", "M": "orange", "FIX": "ochre"}


def _blocks(trace: Trace, wanted: int | Sequence[int] | None) -> list[int]:
    """The blocks to show; by default the first one and the one that ends last."""
    there = np.unique(trace.rows["block"])
    if wanted is not None:
        return [int(b) for b in (wanted if isinstance(wanted, Sequence) else [wanted])]
    if not len(there):
        return []
    return sorted({int(there[0]), _slowest(trace)})


def _slowest(trace: Trace) -> int:
    return int(trace.rows["block"][np.argmax(trace.rows["end"])])


def _window(trace: Trace, blocks: list[int], t0: float | None, t1: float | None) -> tuple[float, float]:
    rows = trace.rows[np.isin(trace.rows["block"], blocks)]
    low = 0.0 if t0 is None else float(t0)
    high = float(t1) if t1 is not None else float(rows["end"].max()) if len(rows) else low + 1.0
    if not high > low:
        raise ValueError(f"an empty window: t0={low} us, t1={high} us")
    return low, high


def kind_text(kind: str) -> str:
    return text("fig_measured" if kind == "measured" else "fig_modelled")


def pipe_timeline(
    record_or_array,
    blocks: int | Sequence[int] | None = None,
    t0: float | None = None,
    t1: float | None = None,
    max_bars: int = 400,
) -> Figure:
    """The Gantt chart of one launch. `t0`, `t1` in us. Raises TypeError for data without a timeline,
    ValueError for an empty window.
    """
    if (none := absent(record_or_array)) is not None:
        return none
    trace = read_trace(record_or_array)
    chosen = _blocks(trace, blocks)
    low, high = _window(trace, chosen, t0, t1)
    title = _title(trace, chosen)
    return _fit(lambda cap: _draw([(trace, chosen, "")], low, high, cap, title), max_bars)


def _fit(draw, max_bars: int) -> Figure:
    """The figure with as many bars as leave it under MAX_BYTES."""
    cap = float(max_bars)
    while True:
        figure = draw(max(int(cap), 8))
        if len(figure.svg.encode()) <= MAX_BYTES or cap <= 8:
            return figure
        cap *= 0.6


def compare_timelines(a, b, labels: tuple[str, str] | None = None, max_bars: int = 400) -> Figure:
    """Two launches one above the other on one time scale, each by the block that ends last."""
    if (none := absent(a, b)) is not None:
        return none
    traces = [read_trace(a), read_trace(b)]
    names = labels or tuple(t.kernel or letter for t, letter in zip(traces, "AB", strict=True))
    if names[0] == names[1]:
        names = (f"A {names[0]}", f"B {names[1]}")
    for name, trace in zip(names, traces, strict=True):
        if not len(trace.rows):
            raise ValueError(f"{name} has no instructions in its timeline")
    panels = [(trace, [_slowest(trace)], name) for trace, name in zip(traces, names, strict=True)]
    high = max(float(trace.rows["end"].max()) for trace in traces)
    title = text("fig_compare_title", a=names[0], b=names[1])
    return _fit(lambda cap: _draw(panels, 0.0, high, cap // 2, title), max_bars)


def _title(trace: Trace, blocks: list[int]) -> str:
    every = len(np.unique(trace.rows["block"]))
    shown = ", ".join(map(str, blocks))
    return text("fig_time_title", kernel=trace.kernel or text("fig_kernel"), blocks=shown, every=every)


def _duration(trace: Trace) -> float:
    return trace.time_us if trace.time_us is not None else float(trace.rows["end"].max()) if len(trace.rows) else 0.0


def _finding(panels, lanes_by_panel: list[list[Lane]], low: float, high: float) -> str:
    """The main result in one sentence."""
    span = high - low
    if len(panels) == 2:
        (a, _, name_a), (b, _, name_b) = panels
        first, second = _duration(a), _duration(b)
        said = text(
            "fig_compare",
            a=name_a,
            ta=time_text(first),
            ka=kind_text(a.kind),
            b=name_b,
            tb=time_text(second),
            kb=kind_text(b.kind),
        )
        if a.kind == b.kind and first > 0:
            said = join(said, text("fig_compare_ratio", a=name_a, b=name_b, ratio=f"{second / first:.2f}"))
        return said
    trace, lanes = panels[0][0], lanes_by_panel[0]
    if not lanes:
        return text("fig_time_empty")
    busiest = max(lanes, key=lambda lane: lane.busy_us)
    both = max(overlap([x for x in lanes if x.block == block and x.pipe != "S"]) for block in {x.block for x in lanes})
    said = text(
        "fig_time_finding",
        total=time_text(_duration(trace)),
        us=time_text(span),
        kind=kind_text(trace.kind),
        pipe=busiest.label,
        share=percent(busiest.busy_us / span),
        both=percent(both / span),
    )
    if trace.total > len(trace.rows):
        said = join(said, text("fig_time_cut", n=f"{len(trace.rows):,}", total=f"{trace.total:,}"))
    return said


def _draw(panels, low: float, high: float, max_bars: int, title: str) -> Figure:
    """`panels`: (trace, blocks, label). All on one scale."""
    us_per_px = (high - low) / (RIGHT - LEFT)
    lanes_by_panel = [lanes_of(trace, blocks, low, high) for trace, blocks, _ in panels]
    for (trace, _, _), lanes in zip(panels, lanes_by_panel, strict=True):
        merge_all(lanes, trace, us_per_px, max_bars)
    finding = _finding(panels, lanes_by_panel, low, high)
    c = Canvas()
    y = c.heading(title, finding) + 16
    c.text(EDGE, y - 6, text("fig_busy"), "m s e")
    top, rows, notes, drawn, behind, labelled = y, [], [], [], c.mark(), 0
    for (trace, blocks, label), lanes in zip(panels, lanes_by_panel, strict=True):
        span = high - low
        if len(panels) > 1:  # side by side, each launch is busy by its own time
            span = max((float(lane.spans[-1, 1]) for lane in lanes), default=high) - low
        if label:
            y += 12 if not rows else 22
            c.text(16, y, shorten(label, 460, 12.5), "b")
            c.text(
                16 + text_width(shorten(label, 460, 12.5)) + 14,
                y,
                f"{time_text(_duration(trace))} us, {kind_text(trace.kind)}",
                "m",
            )
            rows.append(f"{label}: {time_text(_duration(trace))} us, {kind_text(trace.kind)}")
            y += 8
        tops, last = [], None
        for lane in lanes:
            if len(blocks) > 1 and lane.block != last:
                y += 14 if last is None else 20
                c.text(16, y, text("fig_block", block=lane.block), "b")
                y += 6
            last = lane.block
            tops.append(y + (PITCH - BAR) / 2)
            labelled = _lane(c, lane, trace, tops[-1], low, us_per_px, span) or labelled
            rows.append(_row(lane, trace, span, len(blocks) > 1))
            y += PITCH
        drawn.append((trace, lanes, tops))
    time_axis(
        c,
        low,
        high,
        LEFT,
        RIGHT,
        top,
        y,
        behind,
        ", ".join(dict.fromkeys(kind_text(trace.kind) for trace, _, _ in panels)),
    )
    if labelled:
        c.text(LEFT, y + 32, text("fig_line_legend", line=labelled), "m s")
    y += 44
    for trace, lanes, tops in drawn:
        notes += _marks(c, trace, lanes, tops, low, us_per_px, len(notes))
    merged = [bar.count for lanes in lanes_by_panel for lane in lanes for bar in lane.bars if bar.count > 1]
    y += 8 if merged or notes else 0
    if merged:
        c.rect(16, y - 10, 22, 12, "grey/bars", rx=2)
        c.text(44, y, text("fig_merged_legend", n=f"{sum(merged):,}", bars=f"{len(merged):,}"), "m s")
        y += 20
    for mark, sentence in notes:
        c.warn(25, y - 4, mark)
        c.text(44, y, shorten(sentence, EDGE - 44), "")
        y += 20
    return c.figure(title, "\n".join([finding, *rows, *(sentence for _, sentence in notes)]), y)


def _lane(c: Canvas, lane: Lane, trace: Trace, y: float, low: float, us_per_px: float, span: float) -> int:
    """A source line that a bar is labelled with, 0 for none."""
    fill, named = FILLS.get(lane.pipe, "grey"), 0
    c.text(16, y + 10, lane.label, "b")
    several = ", …" if len({trace.op(code) for code in np.unique(lane.rows["op"]).tolist()}) > 1 else ""
    c.text(16, y + 23, shorten(trace.op(lane.main_op) + several, LEFT - 26, 11), "s m")
    c.text(EDGE, y + 15, percent(lane.busy_us / span), "e b")
    c.rect(LEFT, y, RIGHT - LEFT, BAR, cls="q", rx=2)
    c.add(f'<g transform="translate(0 {number(y)})"{c.fill(fill)}>')
    for bar in lane.bars:
        x, wide = LEFT + (bar.start - low) / us_per_px, max((bar.end - bar.start) / us_per_px, 0.6)
        merged = bar.count > 1
        high = max(BAR * bar.share, 2.5) if merged else BAR
        known = [str(line) for line in bar.lines if line > 0]
        where = text("fig_line", line=", ".join(known[:4]) + ("…" if len(known) > 4 else "")) if known else ""
        ops = ", ".join(bar.ops[:3]) + ("…" if len(bar.ops) > 3 else "")
        head = text("fig_merged", n=f"{bar.count:,}") + ": " + ops if merged else ops
        tip = f"{head} {where} {time_text(bar.start)}–{time_text(bar.end)} us"
        c.bar(x, BAR - high, wide, high, tip, f"{fill}/bars" if merged else None, edge=wide > 5 and not merged)
    c.add("</g>")
    for bar in lane.bars:
        x, wide = LEFT + (bar.start - low) / us_per_px, (bar.end - bar.start) / us_per_px
        line = f"L{bar.lines[0]}" if bar.lines[0] > 0 else ""
        # One kind of name in a lane: the line, or the instruction where the lane has several (its head has one only).
        names = (f"{bar.ops[0]} {line}".strip(), bar.ops[0]) if several else (line or bar.ops[0],)
        for words in names if bar.count == 1 and wide > 18 else ():
            if words and c.inside(x, y, wide, BAR, words, fill, size=11):
                named = named or (bar.lines[0] if words.endswith(line) and line else 0)
                break
    return named


def _row(lane: Lane, trace: Trace, span: float, name_block: bool) -> str:
    block = text("fig_block", block=lane.block) + " " if name_block else ""
    return block + text(
        "fig_lane_row",
        pipe=lane.label,
        share=percent(lane.busy_us / span),
        us=time_text(lane.busy_us),
        n=f"{len(lane.rows):,}",
        op=trace.op(lane.main_op),
    )


def _marks(
    c: Canvas, trace: Trace, lanes: list[Lane], tops: list[float], low: float, us_per_px: float, before: int
) -> list[tuple[str, str]]:
    """Draw the races of one panel; returns (mark, sentence) for the lines below the chart."""
    notes, named = [], []
    for mark in marks_of(trace, lanes):
        f, name = mark.finding, str(mark.number + before)
        numbers = f.numbers or {}
        sentence = text("fig_race", code=f.code, line=f.line, block=f.block, count=f.count)
        if numbers.get("other_line"):
            other = text(
                "fig_race_other",
                pipe=numbers.get("pipe", "?"),
                other=numbers.get("other", "?"),
                line=numbers["other_line"],
            )
            sentence = join(sentence, other)
        notes.append((name, sentence))
        if mark.at is None:
            continue
        x, y = LEFT + (mark.at[1] - low) / us_per_px, tops[mark.at[0]]
        if mark.other:
            # From edge to edge, so that the names in the middle of the bars stay readable.
            x2, below = LEFT + (mark.other[1] - low) / us_per_px, mark.other[0] > mark.at[0]
            y1, y2 = (y + BAR, tops[mark.other[0]]) if below else (y, tops[mark.other[0]] + BAR)
            c.line(x, y1, x2, y2, "y")
            c.line(x, y1, x2, y2, "x")
            c.add(
                f'<circle cx="{number(x2)}" cy="{number(y2)}" r="4.5" fill="#c62839" stroke="#fff" stroke-width="1.5"/>'
            )
        c.warn(x, y - 7, name)  # above the bar, whose name stands in its middle
        wide = text_width(str(f.code), 11, bold=True)
        if all(abs(x - at) >= 80 or lane != mark.at[0] for at, lane in named):  # else only its number is drawn
            named.append((x, mark.at[0]))
            words = str(f.code)
            at = x + 13 if x + 13 + wide < RIGHT or not fits(words, x - LEFT) else x - 15 - wide
            c.rect(at - 3, y - 14, wide + 6, 13, "red", rx=3)
            c.text(at, y - 4, words, "w s")
    return notes


# ---- the axis below, shared by all drawings of time


def time_axis(
    c: Canvas, low: float, high: float, left: float, right: float, top: float, y: float, behind: int, kinds: str
) -> None:
    """From `low` to `high` us between the pixels left and right, at height y; grid lines from `top`.
    kinds: "modelled", "measured".
    """
    grid, us_per_px = [], (high - low) / (right - left)
    for tick in ticks(low, high, 7):
        x = left + (tick - low) / us_per_px
        grid.append(f"M{number(x)} {number(top)}V{number(y + 4)}")
        c.text(x, y + 17, time_text(tick), "s m c")
    c.path("".join(grid), "g", at=behind)
    c.line(left, y, right, y, "l")
    c.text(right, y + 32, text("fig_time_axis", kind=kinds), "s e")
